import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { onBatch, state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { mayCreateBots, mayInvite } from "../../model/permissions";
import type { User } from "../../model/state";
import { del, get } from "../../protocol/client";
import { confirm } from "../../ui/dialog";
import { watch } from "../../ui/watch";
import { ActionButton } from "../settings/parts/saving";
import { FilteredList } from "../settings/parts/table";
import { UserLine } from "../people/user-line";
import { roleName, userName } from "../settings/parts/names";

const textOf = (user: User) => `${user.full_name} ${user.delivery_email ?? user.email} ${user.is_bot ? userName(user.bot_owner_id) : roleName(user.role)}`;

function listed(isBot: boolean, isActive: boolean): User[] {
  return [...state().users.values()]
    .filter((user) => user.is_bot === isBot && user.is_active === isActive && !user.is_system_bot)
    .sort((one, other) => COLLATOR.compare(one.full_name, other.full_name));
}

/** Return the users whose addresses are not confirmed, for administrators, and what confirms one. */
function useUnconfirmed(isBot: boolean): [ReadonlySet<number>, (user: User) => Promise<void>] {
  const [ids, setIds] = useState<ReadonlySet<number>>(new Set());
  const isShown = state().fields.is_admin && !isBot;
  const load = async () => setIds(new Set((await get<{ user_ids: number[] }>("/realm/unconfirmed_addresses")).user_ids));
  useEffect(() => {
    if (!isShown) return;
    const reload = () => void load().catch(() => undefined); // the list is whole without it
    reload();
    return onBatch((events) => {
      if (events.some(({ type }) => type === "realm_user")) reload();
    });
  }, [isShown]);
  const confirmFor = async (user: User) => {
    const isSure = await confirm({
      title: i18n.t("Confirm the address of {name}?", { name: user.full_name }),
      text: i18n.t("Only if you know that {email} is theirs: it gets their emails then, and other sites sign them in with it.", {
        email: user.delivery_email ?? user.email,
      }),
      action: i18n.t("Confirm the address"),
    });
    if (!isSure) return;
    await del(`/realm/unconfirmed_addresses/${user.user_id}`);
    await load();
  };
  return [ids, confirmFor];
}

interface UsersProps {
  isBot: boolean;
  name: string;
  empty: string;
  /** A link to where more are added. */
  add?: ComponentChild;
}

function Users({ isBot, name, empty, add }: UsersProps) {
  watch("users");
  const [isActive, setActive] = useState(true);
  const users = listed(isBot, isActive);
  const [unconfirmed, confirmFor] = useUnconfirmed(isBot);
  return (
    <FilteredList
      key={String(isActive)}
      name={name}
      items={users}
      keyOf={(user) => user.user_id}
      textOf={textOf}
      empty={empty}
      row={(user) => (
        <UserLine user={user}>
          {user.is_bot ? <span class="faded">{i18n.t("Owner: {name}", { name: userName(user.bot_owner_id) })}</span> : null}
          {unconfirmed.has(user.user_id) ? (
            <>
              <span class="tag">{i18n.t("Address not confirmed")}</span>
              <ActionButton
                kind="small"
                name={i18n.t("Confirm address")}
                label={i18n.t("Confirm the address of {name}", { name: user.full_name })}
                done=" "
                action={() => confirmFor(user)}
              />
            </>
          ) : null}
          <a class="button small" href={`#user/${user.user_id}`} aria-label={i18n.t("Manage {name}", { name: user.full_name })}>
            {state().fields.is_admin ? i18n.t("Manage") : i18n.t("Profile")}
          </a>
        </UserLine>
      )}
    >
      <select aria-label={i18n.t("Accounts")} value={isActive ? "active" : "deactivated"} onChange={(event) => setActive(event.currentTarget.value === "active")}>
        <option value="active">{i18n.t("Active")}</option>
        <option value="deactivated">{i18n.t("Deactivated")}</option>
      </select>
      <span class="faded">{users.length}</span>
      {add}
    </FilteredList>
  );
}

export function UserList() {
  const add = mayInvite(state()) ? <a class="button" href="#organization/invitations">{i18n.t("Invite people")}</a> : null;
  return <Users isBot={false} name={i18n.t("Users")} empty={i18n.t("There are none.")} add={add} />;
}

export function BotList() {
  const add = mayCreateBots(state()) ? <a class="button" href="#settings/bots">{i18n.t("Add a bot")}</a> : null;
  return <Users isBot name={i18n.t("Bots")} empty={i18n.t("There are no bots.")} add={add} />;
}
