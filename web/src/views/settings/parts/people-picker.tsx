import { useRef, useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { foldText } from "../../../model/counts";
import { isInGroup } from "../../../model/permissions";
import type { Channel, Group, User } from "../../../model/state";
import { get } from "../../../protocol/client";
import { Avatar } from "../../../ui/avatar";
import { Combobox, type Option } from "../../../ui/combobox";
import { ChannelIcon, Icon } from "../../../ui/icons";
import { Chip } from "./group-picker";
import { type Found, partsOfText, peopleNamed, type Refused, type Unfit, whyUnfit } from "./named-people";
import { groupName, userName } from "./names";

const OPTIONS_SHOWN = 12;
/** Of refused people, how many are listed by name. */
const REFUSED_SHOWN = 20;

interface PeoplePickerProps {
  label: string;
  chosen: readonly number[];
  onChange: (ids: number[]) => void;
  /** Those who cannot be chosen. */
  without?: ReadonlySet<number>;
  /** Whether all members of a group or a channel can be chosen at once. */
  takesMany?: boolean;
  /** Why others cannot be chosen: by default those who are deactivated. */
  unfit?: Unfit;
}

type Choice = { kind: "user"; id: number } | { kind: "group"; group: Group } | { kind: "channel"; channel: Channel };

/** People chosen by name or email address; many at once by a pasted list, a group, or a channel. */
export function PeoplePicker({ label, chosen, onChange, without, takesMany, unfit = whyUnfit }: PeoplePickerProps) {
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<Refused[]>([]);
  // Who is in a channel is asked for: more may be chosen, written or refused before that is answered.
  const latest = useRef(chosen);
  latest.current = chosen;
  const begin = () => {
    setText("");
    setRefused([]);
  };
  const add = ({ ids, refused: others }: Found) => {
    setRefused((before) => [...before, ...others]);
    latest.current = [...new Set([...latest.current, ...ids])];
    onChange([...latest.current]);
  };
  const choose = async (choice: Choice) => {
    begin();
    if (choice.kind === "user") return add({ ids: [choice.id], refused: [] });
    add(fitOf(choice.kind === "group" ? membersOf(choice.group) : await subscribersOf(choice.channel), without, unfit));
  };
  const onPaste = (event: ClipboardEvent) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    const found = peopleNamed(pasted, state().users, without, unfit);
    // One word may be a part of what is still to be written.
    if (partsOfText(pasted).length < 2 && !found.ids.length) return;
    event.preventDefault();
    begin();
    add(found);
  };
  return (
    <div class="people-picker" onPaste={onPaste}>
      <div class="chips">
        {chosen.length ? (
          <div class="chip-list" role="group" aria-label={i18n.t("{count, plural, one {# person chosen} other {# people chosen}}", { count: chosen.length })} tabIndex={0}>
            {chosen.map((id) => (
              <Chip key={id} name={userName(id)} onRemove={() => onChange(chosen.filter((each) => each !== id))} />
            ))}
          </div>
        ) : null}
        <Combobox
          name={label}
          placeholder={takesMany ? i18n.t("Names, addresses, groups or channels") : i18n.t("Name or email address")}
          text={text}
          onText={setText}
          options={optionsFor(text, { chosen: new Set(chosen), without, takesMany, unfit })}
          opensOnFocus
          onChoose={(choice) => void choose(choice).catch((error: Error) => add({ ids: [], refused: [{ name: label, reason: error.message }] }))}
        />
      </div>
      <div role="status">{refused.length ? <RefusedList title={i18n.t("Not chosen:")} refused={refused} /> : null}</div>
    </div>
  );
}

/** People by name, each with the reason why not. */
export function RefusedList({ title, refused }: { title: string; refused: readonly Refused[] }) {
  const hidden = refused.length - REFUSED_SHOWN;
  return (
    <div class="refused">
      {title}
      <ul>
        {refused.slice(0, REFUSED_SHOWN).map(({ name, reason }) => (
          <li key={name}>{i18n.t("{name}: {reason}", { name, reason })}</li>
        ))}
        {hidden > 0 ? <li>{i18n.t("{count, plural, one {and # other} other {and # others}}", { count: hidden })}</li> : null}
      </ul>
    </div>
  );
}

function membersOf(group: Group): number[] {
  return [...state().users.keys()].filter((id) => isInGroup(state(), group.id, id));
}

async function subscribersOf(channel: Channel): Promise<number[]> {
  return (await get<{ subscribers: number[] }>(`/streams/${channel.stream_id}/members`)).subscribers;
}

/** Split people into those who can be chosen and the others; those who are in are what was asked for. */
function fitOf(ids: readonly number[], without: ReadonlySet<number> | undefined, unfit: Unfit): Found {
  const known = ids.flatMap((id) => state().users.get(id) ?? []).filter((user) => !without?.has(user.user_id));
  const reasons = new Map(known.map((user) => [user, unfit(user)]));
  return {
    ids: known.filter((user) => !reasons.get(user)).map((user) => user.user_id),
    refused: known.flatMap((user) => (reasons.get(user) ? { name: user.full_name, reason: reasons.get(user)! } : [])),
  };
}

interface Offered {
  chosen: ReadonlySet<number>;
  without: ReadonlySet<number> | undefined;
  takesMany: boolean | undefined;
  unfit: Unfit;
}

function optionsFor(text: string, { chosen, without, takesMany, unfit }: Offered): Option<Choice>[] {
  const wanted = foldText(text.trim().replace(/^[#@]/, ""));
  const options: Option<Choice>[] = [];
  for (const user of state().users.values()) {
    if (options.length >= OPTIONS_SHOWN || text.startsWith("#")) break;
    if (unfit(user, without) || chosen.has(user.user_id) || !isNamed(user, wanted)) continue;
    options.push({
      key: String(user.user_id),
      value: { kind: "user", id: user.user_id },
      render: (
        <>
          <Avatar user={user} /> {user.full_name} {user.delivery_email ? <span class="faded">{user.delivery_email}</span> : null}
          {user.is_active ? null : <span class="tag">{i18n.t("Deactivated")}</span>}
        </>
      ),
    });
  }
  return takesMany && text.trim() ? [...options, ...groupOptions(wanted), ...channelOptions(wanted)] : options;
}

function isNamed(user: User, wanted: string): boolean {
  return !wanted || foldText(user.full_name).includes(wanted) || foldText(user.delivery_email ?? "").includes(wanted);
}

function groupOptions(wanted: string): Option<Choice>[] {
  return [...state().groups.values()]
    .filter((group) => !group.deactivated && !["role:nobody", "role:internet"].includes(group.name) && foldText(groupName(group)).includes(wanted))
    .slice(0, OPTIONS_SHOWN)
    .map((group) => ({
      key: `group ${group.id}`,
      value: { kind: "group", group },
      render: (
        <>
          <Icon name="people" /> {i18n.t("All of the group {name}", { name: groupName(group) })}
        </>
      ),
    }));
}

function channelOptions(wanted: string): Option<Choice>[] {
  return [...state().channels.values()]
    .filter((channel) => !channel.is_archived && foldText(channel.name).includes(wanted))
    .slice(0, OPTIONS_SHOWN)
    .map((channel) => ({
      key: `channel ${channel.stream_id}`,
      value: { kind: "channel", channel },
      render: (
        <>
          <ChannelIcon channel={channel} /> {i18n.t("All of the channel {name}", { name: channel.name })}
        </>
      ),
    }));
}
