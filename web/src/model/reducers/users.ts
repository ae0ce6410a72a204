import type { ChangedValue, PersonChange } from "../../protocol/types";
import type { Changes } from "../changes";
import type { EventOf } from "../events";
import type { State, Status, User } from "../state";
import type { Reducers } from "./reducer";

const ROLE = { OWNER: 100, ADMIN: 200, MODERATOR: 300, GUEST: 600 } as const;

function realmUser(state: State, event: EventOf<"realm_user">, changes: Changes): void {
  changes.mark("users");
  if (event.op === "add") {
    const { person } = event;
    state.users.set(person.user_id, { ...person, is_active: person.is_active ?? true });
    return;
  }
  const userId = event.person.user_id;
  if (event.op === "remove") {
    state.users.delete(userId);
    forgetPresence(state, userId, changes);
    return;
  }
  const user = state.users.get(userId);
  if (!user) return;
  const { custom_profile_field, ...changed } = event.person;
  if (custom_profile_field) setProfileValue(user, custom_profile_field);
  else changePerson(state, user, changed, changes);
}

function setProfileValue(user: User, { id, value, rendered_value }: ChangedValue): void {
  const profile = (user.profile_data ??= {});
  if (value === null) delete profile[id];
  else profile[id] = rendered_value === undefined ? { value } : { value, rendered_value };
}

function changePerson(state: State, user: User, change: PersonChange, changes: Changes): void {
  const { new_email, avatar_url_medium, avatar_source, ...others } = change;
  const changed: Partial<User> = others;
  if (new_email !== undefined) changed.email = new_email;
  if (changed.role !== undefined) {
    changed.is_owner = changed.role === ROLE.OWNER;
    changed.is_admin = changed.role <= ROLE.ADMIN;
    changed.is_guest = changed.role === ROLE.GUEST;
  }
  Object.assign(user, changed);
  if (changed.is_active) delete user.is_deleted;
  if (changed.is_active === false) forgetPresence(state, user.user_id, changes);
  if (user.user_id === state.userId) changeSelf(state, { ...changed, avatar_url_medium, avatar_source }, changes);
  if (changed.full_name !== undefined) changes.mark("bodies");
  if (changed.full_name !== undefined || changed.email !== undefined || changed.avatar_url !== undefined) {
    for (const message of state.messages.values()) {
      if (message.sender_id !== user.user_id) continue;
      message.sender_full_name = user.full_name;
      message.sender_email = user.email;
      message.avatar_url = user.avatar_url;
      changes.mark(`message:${message.id}`);
    }
  }
}

/** One's own name, address and role are fields of register's response as well. */
function changeSelf(state: State, changed: Partial<User> & Pick<PersonChange, "avatar_url_medium" | "avatar_source">, changes: Changes): void {
  for (const [name, value] of Object.entries(changed)) {
    if (name in state.fields && value !== undefined) Object.assign(state.fields, { [name]: value });
  }
  if (changed.role !== undefined) state.fields.is_moderator = changed.role === ROLE.MODERATOR;
  changes.mark("realm");
}

function forgetPresence(state: State, userId: number, changes: Changes): void {
  state.presences.delete(userId);
  state.statuses.delete(userId);
  changes.mark("presence", "statuses");
}

function userGroup(state: State, event: EventOf<"user_group">, changes: Changes): void {
  changes.mark("groups");
  if (event.op === "add") {
    state.groups.set(event.group.id, event.group);
    return;
  }
  const group = state.groups.get(event.group_id);
  if (changesMentions(state, event)) changes.mark("bodies");
  if (event.op === "remove") state.groups.delete(event.group_id);
  if (!group) return;
  const without = (ids: number[], removed: number[]) => ids.filter((id) => !removed.includes(id));
  switch (event.op) {
    case "update":
      Object.assign(group, event.data);
      break;
    case "add_members":
      group.members = [...without(group.members, event.user_ids), ...event.user_ids];
      break;
    case "remove_members":
      group.members = without(group.members, event.user_ids);
      break;
    case "add_subgroups":
      group.direct_subgroup_ids = [
        ...without(group.direct_subgroup_ids, event.direct_subgroup_ids),
        ...event.direct_subgroup_ids,
      ].sort((one, other) => one - other);
      break;
    case "remove_subgroups":
      group.direct_subgroup_ids = without(group.direct_subgroup_ids, event.direct_subgroup_ids);
      break;
  }
}

/** Whether mentions of groups have another name, or mean the user or no longer do. */
function changesMentions(state: State, event: Exclude<EventOf<"user_group">, { op: "add" }>): boolean {
  if (event.op === "update") return event.data.name !== undefined || event.data.deactivated !== undefined;
  return "user_ids" in event ? event.user_ids.includes(state.userId) : true;
}

function presence(state: State, event: EventOf<"presence">, changes: Changes): void {
  changes.mark("presence");
  // The other form is for older clients.
  if (!("presences" in event)) return;
  for (const [id, each] of Object.entries(event.presences)) state.presences.set(Number(id), each);
  if ("presence_last_update_id" in event) state.fields.presence_last_update_id = event.presence_last_update_id;
}

function userStatus(state: State, event: EventOf<"user_status">, changes: Changes): void {
  changes.mark("statuses");
  const { user_id, away, status_text, emoji_name, emoji_code, reaction_type } = event;
  const changed = Object.entries({ away, status_text, emoji_name, emoji_code, reaction_type }).filter(([, value]) => value !== undefined);
  const status: Status = { ...state.statuses.get(user_id), ...Object.fromEntries(changed) };
  if (!status.status_text) delete status.status_text;
  if (!status.emoji_name) for (const name of ["emoji_name", "emoji_code", "reaction_type"] as const) delete status[name];
  if (!status.away) delete status.away;
  if (Object.keys(status).length) state.statuses.set(user_id, status);
  else state.statuses.delete(user_id);
}

function mutedUsers(state: State, event: EventOf<"muted_users">, changes: Changes): void {
  changes.mark("mutedUsers");
  state.mutedUsers = new Set(event.muted_users.map((each) => each.id));
}

export const userReducers: Reducers = {
  realm_user: realmUser,
  user_group: userGroup,
  presence,
  user_status: userStatus,
  muted_users: mutedUsers,
};
