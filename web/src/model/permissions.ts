/** Who is in a group, and what the permission settings of organization and channels allow the user. */

import { type Channel, type ChannelPermission, fieldNamed, type Group, type GroupValue, type State, type User } from "./state";

/** Return the user that is signed in; undefined for spectators. */
export function self(state: State): User | undefined {
  return state.users.get(state.userId);
}

/** Return whether a person belongs to a group, directly or through a group within it. */
export function isInGroup(state: State, groupId: number, userId: number, seen = new Set<number>()): boolean {
  if (seen.has(groupId)) return false;
  seen.add(groupId);
  const group = state.groups.get(groupId);
  if (!group || group.deactivated) return false;
  return group.members.includes(userId) || group.direct_subgroup_ids.some((id) => isInGroup(state, id, userId, seen));
}

/** Return whether the value of a permission setting admits a person. */
export function admits(state: State, value: GroupValue | undefined, userId = state.userId): boolean {
  if (value === undefined) return false;
  if (typeof value === "number") return isInGroup(state, value, userId);
  return value.direct_members.includes(userId) || value.direct_subgroups.some((id) => isInGroup(state, id, userId));
}

/** Return whether the organization gives the user a permission such as `can_mention_many_users_group`. */
export function realmPermits(state: State, name: string): boolean {
  if (self(state)?.is_guest && !allowsGuests(state, "realm", name)) return false;
  return admits(state, fieldNamed(state.fields, `realm_${name}`) as GroupValue | undefined);
}

/** Return whether a channel's own setting gives the user a permission such as `can_send_message_group`. */
export function channelPermits(state: State, channel: Channel, name: ChannelPermission): boolean {
  if (self(state)?.is_guest && !allowsGuests(state, "stream", name)) return false;
  return admits(state, channel[name]);
}

function allowsGuests(state: State, kind: "realm" | "stream", name: string): boolean {
  return state.fields.server_supported_permission_settings?.[kind]?.[name]?.allow_everyone_group ?? false;
}

/** Return whether a channel admits the user, subscribed or not. */
function admitsReader(state: State, channel: Channel): boolean {
  if (channel.is_web_public) return true;
  if (self(state)?.is_guest) return false;
  return !channel.invite_only || channelPermits(state, channel, "can_subscribe_group") || channelPermits(state, channel, "can_add_subscribers_group");
}

/** Return whether the server answers the user what is in a channel: of some, people see the name alone. */
export function readsChannel(state: State, channel: Channel): boolean {
  return channel.is_subscribed || admitsReader(state, channel);
}

/** Return whether the user may read all of a channel's messages without being subscribed. */
export function readsWithoutSubscription(state: State, channel: Channel): boolean {
  return (!channel.invite_only || channel.history_public_to_subscribers) && admitsReader(state, channel);
}

/** Return whether the user administers a channel: administrators do, whatever its settings are. */
export function administersChannel(state: State, channel: Channel): boolean {
  return self(state)?.is_admin === true || channelPermits(state, channel, "can_administer_channel_group");
}

/** Return whether the user may subscribe others to a channel. */
export function addsSubscribers(state: State, channel: Channel): boolean {
  const me = self(state);
  if (!me || me.is_guest || channel.is_archived || !(channel.is_subscribed || readsWithoutSubscription(state, channel))) return false;
  return (
    administersChannel(state, channel) ||
    channelPermits(state, channel, "can_add_subscribers_group") ||
    realmPermits(state, "can_add_subscribers_group")
  );
}

/** Return whether the user may mention a group. Groups of roles cannot be mentioned. */
export function mentionsGroup(state: State, group: Group): boolean {
  return !group.deactivated && !group.is_system_group && admits(state, group.can_mention_group);
}

/** Return whether the user may create bots of any kind. */
export function mayCreateBots(state: State): boolean {
  return realmPermits(state, "can_create_bots_group") || realmPermits(state, "can_create_write_only_bots_group");
}

/** Return whether the user may invite people, by email or by link. */
export function mayInvite(state: State): boolean {
  return realmPermits(state, "can_invite_users_group") || realmPermits(state, "create_multiuse_invite_group");
}
