/** Send what is written later. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { post } from "../../protocol/client";
import { content, take } from "./composition";
import { MomentDialog } from "./moment-dialog";
import { shownMoment } from "./moments";
import { cleanTopic } from "./rules";
import { notice, problem } from "./sending";
import type { Target } from "./target";

export default function ScheduleDialog({ to, onClose }: { to: Target; onClose: () => Promise<void> }) {
  const schedule = async (at: Date) => {
    const text = content.peek().trimEnd();
    await post("/scheduled_messages", {
      content: text,
      scheduled_delivery_timestamp: Math.floor(at.getTime() / 1000),
      ...(to.kind === "topic"
        ? { type: "channel", to: to.channelId!, topic: cleanTopic(state(), to.topic) }
        : { type: "direct", to: to.userIds }),
    });
    take();
    problem.value = undefined;
    notice.value = {
      text: i18n.t("Your message will be sent {when}.", { when: shownMoment(at) }),
      link: "#scheduled",
      label: i18n.t("View scheduled messages"),
    };
  };
  return <MomentDialog title={i18n.t("Schedule message")} action={i18n.t("Schedule")} onClose={() => void onClose()} onChoose={schedule} />;
}
