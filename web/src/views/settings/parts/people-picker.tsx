import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { foldText } from "../../../model/counts";
import type { User } from "../../../model/state";
import { Avatar } from "../../../ui/avatar";
import { Combobox, type Option } from "../../../ui/combobox";
import { Chip } from "./group-picker";
import { userName } from "./names";

const OPTIONS_SHOWN = 12;

interface PeoplePickerProps {
  label: string;
  chosen: readonly number[];
  onChange: (ids: number[]) => void;
  /** Those who cannot be chosen. */
  without?: ReadonlySet<number>;
}

/** People chosen by name or email address. */
export function PeoplePicker({ label, chosen, onChange, without }: PeoplePickerProps) {
  const [text, setText] = useState("");
  const wanted = foldText(text.trim());
  const options: Option<number>[] = [];
  for (const user of state().users.values()) {
    if (options.length >= OPTIONS_SHOWN) break;
    if (!isOffered(user, wanted) || without?.has(user.user_id) || chosen.includes(user.user_id)) continue;
    options.push({
      key: String(user.user_id),
      value: user.user_id,
      render: (
        <>
          <Avatar user={user} /> {user.full_name} {user.delivery_email ? <span class="faded">{user.delivery_email}</span> : null}
        </>
      ),
    });
  }
  return (
    <div class="chips">
      {chosen.map((id) => (
        <Chip key={id} name={userName(id)} onRemove={() => onChange(chosen.filter((each) => each !== id))} />
      ))}
      <Combobox
        name={label}
        placeholder={i18n.t("Name or email address")}
        text={text}
        onText={setText}
        options={options}
        opensOnFocus
        onChoose={(id) => {
          setText("");
          onChange([...chosen, id]);
        }}
      />
    </div>
  );
}

function isOffered(user: User, wanted: string): boolean {
  if (!user.is_active || user.is_system_bot) return false;
  return !wanted || foldText(user.full_name).includes(wanted) || foldText(user.delivery_email ?? "").includes(wanted);
}
