import { computed, signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { type Availability, availabilityOf } from "../../model/availability";
import { COLLATOR, foldText } from "../../model/counts";
import { directNarrow } from "../../model/narrow";
import type { User } from "../../model/state";
import { addressOf } from "../../router";
import { Avatar } from "../../ui/avatar";
import { minute } from "../../ui/clock";
import { UnreadCount } from "../../ui/count";
import { memo } from "../../ui/memo";
import { StatusEmoji } from "../../ui/status-emoji";
import { calmVersion, watch, watchedVersion } from "../../ui/watch";
import { openSide } from "../left/drawer";

const filter = signal("");
/** People that are shown at once; the box finds the others. */
const MAX_SHOWN = 150;
/** People that are shown at first, at least: more come when the list is scrolled. */
const MIN_FIRST = 40;
const ROW_HEIGHT = 24;
const STEP = 40;
/** Distance from the end within which more are shown. */
const EDGE_MARGIN = 600;
/** In large organizations some person comes or goes each second. */
const PRESENCE_EVERY_MS = 5_000;

const presence = calmVersion("presence", PRESENCE_EVERY_MS);

/** What is unread in direct messages, as text: other messages change nothing here. */
const unreadDirects = computed(() => {
  watch("unread");
  return [...state().unread.directs].map(([key, ids]) => `${key} ${ids.size}`).join();
});

let named: { users: Map<number, User>; version: number; locale: string; people: User[] } | undefined;

/** Return people by name. Sorting thousands takes longer than a frame: it is done when people change. */
function peopleByName(version: number): User[] {
  const { users } = state();
  const { locale } = i18n;
  if (named?.users !== users || named.version !== version || named.locale !== locale) {
    const people = [...users.values()]
      .filter((each) => each.is_active && !each.is_bot)
      .sort((one, other) => COLLATOR.compare(one.full_name, other.full_name));
    named = { users, version, locale, people };
  }
  return named.people;
}

interface Listed {
  user: User;
  availability: Availability;
}

/** Return those that are wanted: who is active first, oneself last, each part by name. */
function inOrder(people: readonly User[], wanted: string): Listed[] {
  const now = minute.value / 1000;
  const { mutedUsers, userId } = state();
  const self: Listed[] = [];
  const others: Record<Availability, Listed[]> = { active: [], idle: [], offline: [] };
  for (const user of people) {
    if (mutedUsers.has(user.user_id) || (wanted && !foldText(user.full_name).includes(wanted))) continue;
    const listed = { user, availability: availabilityOf(state(), user.user_id, now) };
    (user.user_id === userId ? self : others[listed.availability]).push(listed);
  }
  return [...others.active, ...others.idle, ...others.offline, ...self];
}

/** Who is here. */
export function People() {
  watch("mutedUsers");
  presence.value;
  unreadDirects.value;
  const [count, setCount] = useState(() => Math.max(MIN_FIRST, Math.ceil(innerHeight / ROW_HEIGHT)));
  const version = watchedVersion("users");
  const listed = inOrder(peopleByName(version), foldText(filter.value));
  const looks = `${version} ${watchedVersion("statuses")}`;
  const hidden = count < MAX_SHOWN ? 0 : listed.length - MAX_SHOWN;
  const showMore = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { currentTarget: HTMLElement }) => {
    if (count < MAX_SHOWN && scrollHeight - scrollTop - clientHeight < EDGE_MARGIN) setCount(Math.min(MAX_SHOWN, count + STEP));
  };
  return (
    <aside class={`right${openSide.value === "right" ? " open" : ""}`} aria-label="People" id="people" tabIndex={-1} onScroll={showMore}>
      <input
        type="search"
        class="filter"
        placeholder={i18n.t("Find people")}
        aria-label={i18n.t("Find people")}
        value={filter.value}
        onInput={(event) => {
          filter.value = event.currentTarget.value;
        }}
      />
      <ul class="links">
        {listed.slice(0, Math.min(count, MAX_SHOWN)).map(({ user, availability }) => (
          <PersonRow key={user.user_id} user={user} availability={availability} looks={`${looks} ${unreadOf(user)}`} />
        ))}
      </ul>
      {hidden > 0 ? <p class="hint">{i18n.t("{hidden} more: type a name to find them.", { hidden })}</p> : null}
      {!listed.length ? <p class="hint">{i18n.t("No one has such a name.")}</p> : null}
    </aside>
  );
}

interface PersonProps extends Listed {
  /** Changes with what else is shown of a person. */
  looks: string;
}

const PersonRow = memo(Person);

function unreadOf({ user_id: id }: User): number {
  return state().unread.inDirect(String(id)).size;
}

function Person({ user, availability }: PersonProps) {
  const status = state().statuses.get(user.user_id);
  const isSelf = user.user_id === state().userId;
  return (
    <li class="person">
      <a href={addressOf(directNarrow([user.user_id]))} aria-label={`${user.full_name}, ${availability}`}>
        <span class={`presence presence-${availability}`}>
          <Avatar user={user} size={22} />
        </span>
        <bdi class="name">{user.full_name}</bdi>
        <StatusEmoji userId={user.user_id} />
      </a>
      {isSelf ? <span class="faded">{i18n.t("(you)")}</span> : null}
      <UnreadCount of={unreadOf(user)} />
      {status?.status_text ? <span class="status-text">{status.status_text}</span> : null}
    </li>
  );
}
