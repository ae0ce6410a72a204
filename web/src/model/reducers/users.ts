import type { Changes } from "../changes";
import type { Presence, State, User } from "../state";
import type { Reducer, ServerEvent } from ".";

const ROLE = { OWNER: 100, ADMIN: 200, MODERATOR: 300, GUEST: 600 } as const;

function realmUser(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("users");
  const { person } = event;
  if (event.op === "add") {
    state.users.set(person.user_id, { ...person, is_active: person.is_active ?? true });
    return;
  }
  if (event.op === "remove") {
    state.users.delete(person.user_id);
    forgetPresence(state, person.user_id, changes);
    return;
  }
  const user = state.users.get(person.user_id);
  if (!user) return;
  const { custom_profile_field, ...changed } = person;
  if (custom_profile_field) setProfileValue(user, custom_profile_field);
  else changePerson(state, user, changed, changes);
}

function setProfileValue(user: User, { id, value, rendered_value }: Record<string, any>): void {
  const profile = (user.profile_data ??= {});
  if (value === null) delete profile[id];
  else profile[id] = rendered_value === undefined ? { value } : { value, rendered_value };
}

function changePerson(state: State, user: User, change: Record<string, any>, changes: Changes): void {
  const { new_email, avatar_url_medium, avatar_source, ...changed } = change;
  if (new_email !== undefined) changed.email = new_email;
  if (changed.role !== undefined) {
    changed.is_owner = changed.role === ROLE.OWNER;
    changed.is_admin = changed.role <= ROLE.ADMIN;
    changed.is_guest = changed.role === ROLE.GUEST;
  }
  Object.assign(user, changed);
  if (changed.is_active === false) forgetPresence(state, user.user_id, changes);
  if (user.user_id === state.userId) changeSelf(state, { ...changed, avatar_url_medium, avatar_source }, changes);
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
function changeSelf(state: State, changed: Record<string, any>, changes: Changes): void {
  for (const [name, value] of Object.entries(changed)) {
    if (name in state.fields && value !== undefined) state.fields[name] = value;
  }
  if (changed.role !== undefined) state.fields.is_moderator = changed.role === ROLE.MODERATOR;
  changes.mark("realm");
}

function forgetPresence(state: State, userId: number, changes: Changes): void {
  state.presences.delete(userId);
  state.statuses.delete(userId);
  changes.mark("presence", "statuses");
}

function userGroup(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("groups");
  if (event.op === "add") {
    state.groups.set(event.group.id, event.group);
    return;
  }
  const group = state.groups.get(event.group_id);
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
      ];
      break;
    case "remove_subgroups":
      group.direct_subgroup_ids = without(group.direct_subgroup_ids, event.direct_subgroup_ids);
      break;
  }
}

function presence(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("presence");
  for (const [id, each] of Object.entries(event.presences ?? {})) state.presences.set(Number(id), each as Presence);
  if (event.presence_last_update_id !== undefined) state.fields.presence_last_update_id = event.presence_last_update_id;
}

function userStatus(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("statuses");
  const { type: _type, id: _id, op: _op, user_id, ...changed } = event;
  const status = { ...state.statuses.get(user_id), ...changed } as Record<string, any>;
  if (!status.status_text) delete status.status_text;
  if (!status.emoji_name) for (const name of ["emoji_name", "emoji_code", "reaction_type"]) delete status[name];
  if (!status.away) delete status.away;
  if (Object.keys(status).length) state.statuses.set(user_id, status);
  else state.statuses.delete(user_id);
}

function mutedUsers(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("mutedUsers");
  state.mutedUsers = new Set(event.muted_users.map((each: { id: number }) => each.id));
}

export const userReducers: Record<string, Reducer> = {
  realm_user: realmUser,
  user_group: userGroup,
  presence,
  user_status: userStatus,
  muted_users: mutedUsers,
};
