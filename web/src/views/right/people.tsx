import { signal } from "@preact/signals";
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
import { watch } from "../../ui/watch";
import { openSide } from "../left/drawer";

const filter = signal("");
/** People that are shown at once; the box finds the others. */
const MAX_SHOWN = 150;
const ORDER: Record<Availability, number> = { active: 0, idle: 1, offline: 2 };

/** Who is here. */
export function People() {
  watch("users", "presence", "statuses", "unread", "mutedUsers");
  const now = minute.value / 1000;
  const wanted = foldText(filter.value);
  const listed = [...state().users.values()]
    .filter((each) => each.is_active && !each.is_bot && !state().mutedUsers.has(each.user_id))
    .filter((each) => !wanted || foldText(each.full_name).includes(wanted))
    .map((user) => ({ user, availability: availabilityOf(state(), user.user_id, now) }))
    .sort(
      (one, other) =>
        Number(other.user.user_id === state().userId) - Number(one.user.user_id === state().userId) ||
        ORDER[one.availability] - ORDER[other.availability] ||
        COLLATOR.compare(one.user.full_name, other.user.full_name),
    );
  const hidden = listed.length - MAX_SHOWN;
  return (
    <aside class={`right${openSide.value === "right" ? " open" : ""}`} aria-label="People" id="people">
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
        {listed.slice(0, MAX_SHOWN).map(({ user, availability }) => (
          <Person key={user.user_id} user={user} availability={availability} />
        ))}
      </ul>
      {hidden > 0 ? <p class="hint">{i18n.t("{hidden} more: type a name to find them.", { hidden })}</p> : null}
      {!listed.length ? <p class="hint">{i18n.t("No one has such a name.")}</p> : null}
    </aside>
  );
}

function Person({ user, availability }: { user: User; availability: Availability }) {
  const status = state().statuses.get(user.user_id);
  const isSelf = user.user_id === state().userId;
  return (
    <li class="person">
      <a href={addressOf(directNarrow([user.user_id]))} aria-label={`${user.full_name}, ${availability}`}>
        <span class={`presence presence-${availability}`}>
          <Avatar user={user} size={22} />
        </span>
        <span class="name">{user.full_name}</span>
        {isSelf ? <span class="faded">{i18n.t("(you)")}</span> : null}
        <UnreadCount of={state().unread.inDirect(String(user.user_id)).size} />
        {status?.status_text ? <span class="status-text">{status.status_text}</span> : null}
      </a>
    </li>
  );
}
