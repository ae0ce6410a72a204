import type { Changes } from "../changes";
import type { State, User } from "../state";
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
    return;
  }
  const user = state.users.get(person.user_id) as (User & Record<string, any>) | undefined;
  if (!user) return;
  const { user_id: _, custom_profile_field: answer, new_email, ...changed } = person;
  if (answer) {
    user.profile_data ??= {};
    if (answer.value === null) delete user.profile_data[answer.id];
    else {
      user.profile_data[answer.id] = {
        value: answer.value,
        ...(answer.rendered_value === undefined ? {} : { rendered_value: answer.rendered_value }),
      };
    }
    return;
  }
  if (new_email !== undefined) user.email = new_email;
  Object.assign(user, changed);
  if (changed.role !== undefined) {
    user.is_owner = changed.role === ROLE.OWNER;
    user.is_admin = changed.role <= ROLE.ADMIN;
    user.is_guest = changed.role === ROLE.GUEST;
  }
  if (person.user_id === state.userId) {
    for (const name of ["email", "delivery_email", "full_name", "avatar_url", "avatar_source", "is_owner", "is_admin", "is_guest"]) {
      if (user[name] !== undefined) state.fields[name] = user[name];
    }
    state.fields.is_moderator = user.role === ROLE.MODERATOR;
    changes.mark("realm");
  }
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
  for (const [id, each] of Object.entries(event.presences ?? {})) state.presences.set(Number(id), each as object);
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
