import { state } from "../../app";
import { i18n } from "../../i18n";
import { senderName } from "../../model/names";
import type { Message } from "../../model/state";
import { timeOfDay } from "../../ui/time";
import { isSelected, select } from "./selection";

/** The box by which a message is selected. */
export default function SelectBox({ message }: { message: Message }) {
  const label = i18n.t("Select the message of {name}, {time}", { name: senderName(state(), message), time: timeOfDay(message.timestamp) });
  return (
    <label class="message-select">
      <input
        type="checkbox"
        aria-label={label}
        checked={isSelected(message.id)}
        onClick={(event) => {
          const box = event.currentTarget;
          select(message.id, box.checked, event.shiftKey);
          box.checked = isSelected(message.id);
        }}
      />
    </label>
  );
}
