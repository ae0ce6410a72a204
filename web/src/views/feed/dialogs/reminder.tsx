import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import type { Message } from "../../../model/state";
import { post } from "../../../protocol/client";
import { LimitedText } from "../../../ui/limited-text";
import { toast } from "../../../ui/toast";
import { MomentDialog } from "../../compose/moment-dialog";
import { shownMoment } from "../../compose/moments";

/** Be reminded of a message. */
export function ReminderDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const [note, setNote] = useState("");
  const remind = async (at: Date) => {
    const timestamp = Math.floor(at.getTime() / 1000);
    await post("/reminders", { message_id: message.id, scheduled_delivery_timestamp: timestamp, ...(note.trim() ? { note: note.trim() } : {}) });
    toast(i18n.t("You will be reminded: {time}.", { time: shownMoment(at) }));
  };
  return (
    <MomentDialog title={i18n.t("Remind me")} action={i18n.t("Remind me then")} onClose={onClose} onChoose={remind}>
      <label class="field">
        <span>{i18n.t("Note")}</span>
        <LimitedText value={note} dir="auto" placeholder={i18n.t("Optional")} max={state().fields.max_reminder_note_length} onText={setNote} />
      </label>
    </MomentDialog>
  );
}
