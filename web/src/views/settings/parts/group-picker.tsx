import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { foldText } from "../../../model/counts";
import type { Group, GroupValue } from "../../../model/state";
import { Avatar } from "../../../ui/avatar";
import { Combobox, type Option } from "../../../ui/combobox";
import { Icon } from "../../../ui/icons";
import { groupName, partsOf, userName } from "./names";

export type PermissionKind = "realm" | "stream" | "group";

const OPTIONS_SHOWN = 12;
const CHOSEN = "chosen";

interface Rule {
  require_system_group: boolean;
  allow_internet_group: boolean;
  allow_nobody_group: boolean;
  allow_everyone_group: boolean;
  allowed_system_groups: string[];
}

function ruleOf(of: PermissionKind, name: string): Rule | undefined {
  return state().fields.server_supported_permission_settings?.[of]?.[name];
}

const ORDER = ["role:internet", "role:everyone", "role:members", "role:fullmembers", "role:moderators", "role:administrators", "role:owners", "role:nobody"];

/** Return the groups of roles that a permission may be given to, from the largest. */
function rolesFor(rule: Rule | undefined): Group[] {
  const allowed = new Set(rule?.allowed_system_groups.length ? rule.allowed_system_groups : ORDER);
  if (!rule?.allow_internet_group) allowed.delete("role:internet");
  if (rule && !rule.allow_everyone_group) allowed.delete("role:everyone");
  if (rule && !rule.allow_nobody_group) allowed.delete("role:nobody");
  return [...state().groups.values()]
    .filter((group) => group.is_system_group && allowed.has(group.name))
    .sort((one, other) => ORDER.indexOf(one.name) - ORDER.indexOf(other.name));
}

interface GroupPickerProps {
  id: string;
  /** Name of the permission, from which follows what it may be given to. */
  name: string;
  of: PermissionKind;
  label: string;
  value: GroupValue;
  isOff: boolean;
  onChange: (value: GroupValue) => void;
}

/** The value of a permission: a role, or chosen groups and people. */
export function GroupPicker({ id, name, of, label, value, isOff, onChange }: GroupPickerProps) {
  const rule = ruleOf(of, name);
  const roles = rolesFor(rule);
  const isRole = typeof value === "number" && Boolean(state().groups.get(value)?.is_system_group);
  const [isChoosing, setChoosing] = useState(false);
  const isChosen = !isRole || isChoosing;
  const isListed = !isRole || roles.some((role) => role.id === value);
  return (
    <div class="group-picker">
      <select
        id={id}
        disabled={isOff}
        value={isChosen ? CHOSEN : String(value)}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          setChoosing(chosen === CHOSEN);
          if (chosen !== CHOSEN) onChange(Number(chosen));
        }}
      >
        {isListed ? null : <option value={String(value)}>{groupName(state().groups.get(value as number))}</option>}
        {roles.map((role) => (
          <option key={role.id} value={String(role.id)}>
            {groupName(role)}
          </option>
        ))}
        {rule?.require_system_group && isRole ? null : <option value={CHOSEN}>{i18n.t("Chosen groups and people…")}</option>}
      </select>
      {isChosen ? <ChosenParts label={label} value={value} roles={roles} isOff={isOff} onChange={onChange} /> : null}
    </div>
  );
}

interface ChosenProps {
  label: string;
  value: GroupValue;
  roles: Group[];
  isOff: boolean;
  onChange: (value: GroupValue) => void;
}

function ChosenParts({ label, value, roles, isOff, onChange }: ChosenProps) {
  const { direct_members: people, direct_subgroups: groups } = partsOf(value);
  const remove = (kind: "direct_members" | "direct_subgroups", id: number) => {
    const parts = { direct_members: people, direct_subgroups: groups };
    onChange({ ...parts, [kind]: parts[kind].filter((each) => each !== id) });
  };
  return (
    <div class="chips">
      {groups.map((id) => (
        <Chip key={`group ${id}`} name={groupName(state().groups.get(id))} isOff={isOff} onRemove={() => remove("direct_subgroups", id)} />
      ))}
      {people.map((id) => (
        <Chip key={`user ${id}`} name={userName(id)} isOff={isOff} onRemove={() => remove("direct_members", id)} />
      ))}
      {isOff ? null : (
        <PartField
          label={i18n.t("Add groups or people: {label}", { label })}
          without={{ direct_members: people, direct_subgroups: groups }}
          roles={roles.filter((role) => role.name !== "role:nobody")}
          onChoose={(kind, id) => {
            const kept = groups.filter((each) => state().groups.get(each)?.name !== "role:nobody");
            onChange(
              kind === "user"
                ? { direct_members: [...people, id], direct_subgroups: kept }
                : { direct_members: people, direct_subgroups: [...kept, id] },
            );
          }}
        />
      )}
    </div>
  );
}

export function Chip({ name, isOff, onRemove }: { name: string; isOff?: boolean; onRemove: () => void }) {
  return (
    <span class="chip">
      {name}
      {isOff ? null : (
        <button type="button" aria-label={i18n.t("Remove {name}", { name })} onClick={onRemove}>
          <Icon name="close" />
        </button>
      )}
    </span>
  );
}

type Part = { kind: "user" | "group"; id: number };

interface PartFieldProps {
  label: string;
  without: { direct_members: readonly number[]; direct_subgroups: readonly number[] };
  roles: Group[];
  onChoose: (kind: "user" | "group", id: number) => void;
}

function PartField({ label, without, roles, onChoose }: PartFieldProps) {
  const [text, setText] = useState("");
  const wanted = foldText(text.trim());
  const options: Option<Part>[] = [];
  const add = (part: Part, name: string, render: Option<Part>["render"]) => {
    if (options.length < OPTIONS_SHOWN && foldText(name).includes(wanted)) options.push({ key: `${part.kind} ${part.id}`, value: part, render });
  };
  const groups = [...roles, ...[...state().groups.values()].filter((each) => !each.is_system_group && !each.deactivated)];
  for (const group of groups) {
    if (!without.direct_subgroups.includes(group.id)) {
      const name = groupName(group);
      add({ kind: "group", id: group.id }, name, <><Icon name="people" /> {name}</>);
    }
  }
  for (const user of state().users.values()) {
    if (options.length >= OPTIONS_SHOWN) break;
    if (user.is_active && !user.is_system_bot && !without.direct_members.includes(user.user_id)) {
      add({ kind: "user", id: user.user_id }, user.full_name, <><Avatar user={user} /> {user.full_name}</>);
    }
  }
  return (
    <Combobox
      name={label}
      placeholder={i18n.t("Add…")}
      text={text}
      onText={setText}
      options={options}
      opensOnFocus
      onChoose={(part) => {
        setText("");
        onChoose(part.kind, part.id);
      }}
    />
  );
}
