/** Reminders that are still to come. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import type { Reminder } from "../../model/state";
import { del } from "../../protocol/client";
import { go } from "../../router";
import { MessageHtml } from "../../ui/message-html";
import { watch } from "../../ui/watch";
import type { Target } from "../compose/target";
import { LaterItem, LaterView } from "./later-item";

function targetOf({ to }: Reminder): Target {
  // Reminders are direct messages to the user's own account.
  const others = to.filter((id) => id !== state().userId);
  return { kind: "direct", userIds: others.length ? others : [state().userId] };
}

export default function RemindersView() {
  watch("reminders", "users");
  const all = [...state().reminders.values()].sort((one, other) => one.scheduled_delivery_timestamp - other.scheduled_delivery_timestamp);
  return (
    <LaterView title={i18n.t("Reminders")} count={all.length} empty={i18n.t("No reminders. Choose “Remind me” in the menu of a message.")}>
      {all.map((each) => (
        <LaterItem
          key={each.reminder_id}
          to={targetOf(each)}
          at={each.scheduled_delivery_timestamp}
          failed={each.failed ? i18n.t("This reminder could not be sent.") : undefined}
          actions={[
            ...(each.reminder_target_message_id
              ? [{ name: i18n.t("Go to the message"), run: () => go(`#narrow/id/${each.reminder_target_message_id}`) }]
              : []),
            { name: i18n.t("Delete"), isDangerous: true, run: async () => void (await del(`/reminders/${each.reminder_id}`)) },
          ]}
        >
          <MessageHtml html={each.rendered_content} />
        </LaterItem>
      ))}
    </LaterView>
  );
}
