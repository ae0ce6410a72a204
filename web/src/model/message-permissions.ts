/** What the user may do with a message: the organization's rules, its channel's, and their time limits. */

import { administersChannel, realmPermits, channelPermits, self } from "./permissions";
import type { Channel, ChannelPermission, Message, State } from "./state";

const MODERATOR = 300;
const GUEST = 600;
/** The server tolerates edits that were begun in time. */
const GRACE_SECONDS = 20;

function either(state: State, channel: Channel | undefined, ofRealm: `can_${string}`, ofChannel: ChannelPermission): boolean {
  return realmPermits(state, ofRealm) || (channel !== undefined && channelPermits(state, channel, ofChannel));
}

function channelOf(state: State, message: Message): Channel | undefined {
  return message.stream_id === undefined ? undefined : state.channels.get(message.stream_id);
}

function isArchived(state: State, message: Message): boolean {
  return channelOf(state, message)?.is_archived ?? false;
}

function isWithin(limit: unknown, message: Message, now: number, grace = 0): boolean {
  return typeof limit !== "number" || now / 1000 - message.timestamp <= limit + grace;
}

export function canEditContent(state: State, message: Message, now: number): boolean {
  return (
    message.sender_id === state.userId &&
    !isArchived(state, message) &&
    message.submessages.length === 0 &&
    state.fields.realm_allow_message_editing !== false &&
    isWithin(state.fields.realm_message_content_edit_limit_seconds, message, now, GRACE_SECONDS)
  );
}

export function canDelete(state: State, message: Message, now: number): boolean {
  if (isArchived(state, message)) return false;
  const channel = channelOf(state, message);
  if (either(state, channel, "can_delete_any_message_group", "can_delete_any_message_group")) return true;
  return (
    message.sender_id === state.userId &&
    either(state, channel, "can_delete_own_message_group", "can_delete_own_message_group") &&
    isWithin(state.fields.realm_message_content_delete_limit_seconds, message, now)
  );
}

function isExemptFromMoveLimits(state: State): boolean {
  return (self(state)?.role ?? GUEST) <= MODERATOR;
}

export function canMoveTopic(state: State, message: Message, now: number): boolean {
  if (message.type !== "stream" || isArchived(state, message)) return false;
  const channel = channelOf(state, message);
  const limit = state.fields.realm_move_messages_within_stream_limit_seconds;
  return (
    either(state, channel, "can_move_messages_between_topics_group", "can_move_messages_within_channel_group") &&
    (isExemptFromMoveLimits(state) || isWithin(limit, message, now))
  );
}

export function canMoveChannel(state: State, message: Message, now: number): boolean {
  if (message.type !== "stream" || isArchived(state, message)) return false;
  const channel = channelOf(state, message);
  const limit = state.fields.realm_move_messages_between_streams_limit_seconds;
  return (
    either(state, channel, "can_move_messages_between_channels_group", "can_move_messages_out_of_channel_group") &&
    (isExemptFromMoveLimits(state) || isWithin(limit, message, now))
  );
}

/** Return whether the user may move topics as a whole; how old their messages may be is the server's to say. */
export function canMoveTopics(state: State, channel: Channel): boolean {
  return !channel.is_archived && either(state, channel, "can_move_messages_between_topics_group", "can_move_messages_within_channel_group");
}

export function canMoveTopicsOut(state: State, channel: Channel): boolean {
  return !channel.is_archived && either(state, channel, "can_move_messages_between_channels_group", "can_move_messages_out_of_channel_group");
}

export function canDeleteTopics(state: State, channel: Channel): boolean {
  return !channel.is_archived && either(state, channel, "can_delete_any_message_group", "can_delete_any_message_group");
}

export function canResolve(state: State, channel: Channel): boolean {
  return !channel.is_archived && either(state, channel, "can_resolve_topics_group", "can_resolve_topics_group");
}

/** Return whether the user may pin and unpin what is in a channel. */
export function canPin(state: State, channel: Channel): boolean {
  return !channel.is_archived && (either(state, channel, "can_pin_group", "can_pin_group") || administersChannel(state, channel));
}

/** Return whether edit histories may be looked at: all of it, moves only, or nothing. */
export function editHistory(state: State): "all" | "moves" | "none" {
  const policy = state.fields.realm_message_edit_history_visibility_policy;
  return policy === "moves" || policy === "none" ? policy : "all";
}

export function canReport(state: State): boolean {
  const channelId = state.fields.realm_moderation_request_channel_id;
  return typeof channelId === "number" && channelId > 0;
}
