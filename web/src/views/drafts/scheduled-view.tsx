/** Messages that are sent later. */

import { useState } from "preact/hooks";
import { outbox, state } from "../../app";
import { i18n } from "../../i18n";
import type { Scheduled } from "../../model/state";
import { del, patch } from "../../protocol/client";
import { addressOf, go } from "../../router";
import { confirm } from "../../ui/dialog";
import { MessageHtml } from "../../ui/message-html";
import { watch } from "../../ui/watch";
import { writeOn } from "../compose/composition";
import { MomentDialog } from "../compose/moment-dialog";
import { narrowOf, type Target } from "../compose/target";
import { LaterItem, LaterView } from "./later-item";

function targetOf({ type, to, topic }: Scheduled): Target {
  if (type === "stream") return { kind: "topic", channelId: Array.isArray(to) ? to[0] : to, topic: topic ?? "" };
  const others = (Array.isArray(to) ? to : [to]).filter((id) => id !== state().userId);
  return { kind: "direct", userIds: others.length ? others : [state().userId] };
}

export default function ScheduledView() {
  watch("scheduled", "channels", "users");
  const [moving, setMoving] = useState<Scheduled | undefined>(undefined);
  const all = [...state().scheduled.values()].sort((one, other) => one.scheduled_delivery_timestamp - other.scheduled_delivery_timestamp);
  const edit = async (each: Scheduled) => {
    const to = targetOf(each);
    // It is taken back before it is edited: it could be sent meanwhile.
    await del(`/scheduled_messages/${each.scheduled_message_id}`);
    const narrow = narrowOf(to);
    if (narrow) go(addressOf(narrow));
    setTimeout(() => writeOn(to, each.content));
  };
  const remove = async (each: Scheduled) => {
    const isSure = await confirm({
      title: i18n.t("Delete scheduled message"),
      text: i18n.t("The message will not be sent."),
      action: i18n.t("Delete"),
      isDangerous: true,
    });
    if (isSure) await del(`/scheduled_messages/${each.scheduled_message_id}`);
  };
  return (
    <LaterView title={i18n.t("Scheduled messages")} count={all.length} empty={i18n.t("No scheduled messages. Use the clock beside “Send” to send a message later.")}>
      {all.map((each) => (
        <LaterItem
          key={each.scheduled_message_id}
          to={targetOf(each)}
          at={each.scheduled_delivery_timestamp}
          failed={each.failed ? i18n.t("This message could not be sent. Choose another time to try it again, or edit it.") : undefined}
          actions={[
            { name: i18n.t("Edit"), run: () => edit(each) },
            { name: i18n.t("Change the time"), run: () => setMoving(each) },
            { name: i18n.t("Send now"), run: () => sendNow(each) },
            { name: i18n.t("Delete"), isDangerous: true, run: () => remove(each) },
          ]}
        >
          <MessageHtml html={each.rendered_content} />
        </LaterItem>
      ))}
      {moving ? (
        <MomentDialog
          title={i18n.t("Change the time")}
          action={i18n.t("Schedule")}
          initial={new Date(Math.max(moving.scheduled_delivery_timestamp * 1000, Date.now() + 60_000))}
          onClose={() => setMoving(undefined)}
          onChoose={async (at) => {
            await patch(`/scheduled_messages/${moving.scheduled_message_id}`, { scheduled_delivery_timestamp: Math.floor(at.getTime() / 1000) });
          }}
        />
      ) : null}
    </LaterView>
  );
}

async function sendNow(each: Scheduled): Promise<void> {
  const to = targetOf(each);
  // Deleted first: what is sent twice cannot be taken back.
  await del(`/scheduled_messages/${each.scheduled_message_id}`);
  outbox.send({
    to: to.kind === "topic" ? { kind: "topic", channelId: to.channelId!, topic: to.topic } : to,
    content: each.content,
  });
}
