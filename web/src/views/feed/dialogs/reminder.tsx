import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import type { Message } from "../../../model/state";
import { post } from "../../../protocol/client";
import { Dialog } from "../../../ui/dialog";
import { LimitedText } from "../../../ui/limited-text";
import { shortTime } from "../../../ui/time";
import { toast } from "../../../ui/toast";

const MINUTE = 60;
const HOUR = 3600;

function tomorrowAt(hour: number, daysOn = 1): number {
  const date = new Date();
  date.setDate(date.getDate() + daysOn);
  date.setHours(hour, 0, 0, 0);
  return Math.floor(date.getTime() / 1000);
}

function daysToMonday(): number {
  return (8 - new Date().getDay()) % 7 || 7;
}

/** Be reminded of a message. */
export function ReminderDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const [note, setNote] = useState("");
  const [when, setWhen] = useState("");
  const [problem, setProblem] = useState("");
  const now = Math.floor(Date.now() / 1000);
  const set = async (timestamp: number) => {
    setProblem("");
    if (!(timestamp > Date.now() / 1000)) {
      setProblem(i18n.t("Choose a time that is still to come."));
      return;
    }
    try {
      await post("/reminders", { message_id: message.id, scheduled_delivery_timestamp: timestamp, ...(note.trim() ? { note: note.trim() } : {}) });
      toast(i18n.t("You will be reminded: {time}.", { time: shortTime(timestamp) }));
      onClose();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const presets: [string, number][] = [
    [i18n.t("In 20 minutes"), now + 20 * MINUTE],
    [i18n.t("In an hour"), now + HOUR],
    [i18n.t("In three hours"), now + 3 * HOUR],
    [i18n.t("Tomorrow at 9:00"), tomorrowAt(9)],
    [i18n.t("Monday at 9:00"), tomorrowAt(9, daysToMonday())],
  ];
  return (
    <Dialog title={i18n.t("Remind me")} size="narrow" onClose={onClose}>
      <label class="field">
        <span>{i18n.t("Note")}</span>
        <LimitedText value={note} dir="auto" placeholder={i18n.t("Optional")} max={state().fields.max_reminder_note_length} onText={setNote} />
      </label>
      <div class="presets">
        {presets.map(([name, timestamp], index) => (
          <button key={name} type="button" {...(index ? {} : { "data-autofocus": true })} onClick={() => void set(timestamp)}>
            <span>{name}</span>
            <small>{shortTime(timestamp)}</small>
          </button>
        ))}
      </div>
      <form
        class="widget-form"
        onSubmit={(event) => {
          event.preventDefault();
          void set(Math.floor(Date.parse(when) / 1000));
        }}
      >
        <input type="datetime-local" aria-label={i18n.t("Another time")} value={when} onInput={(event) => setWhen(event.currentTarget.value)} />
        <button type="submit" aria-disabled={!when}>{i18n.t("Remind me then")}</button>
      </form>
      {problem ? <p class="problem" role="alert">{problem}</p> : null}
    </Dialog>
  );
}
