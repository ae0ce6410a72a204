import type { MessageDetails } from "../../protocol/types";
import type { Changes } from "../changes";
import type { EventOf } from "../events";
import { directKey, type Message, Policy, type Reaction, type State, topicKey } from "../state";
import type { Place } from "../unread";
import { forgetPinned } from "./pins";
import type { Reducers } from "./reducer";

/** Return the conversation of a message. */
export function placeOf(message: Message, self: number): Place {
  if (message.type === "stream") return { kind: "topic", channelId: message.stream_id!, topic: message.subject };
  return { kind: "direct", key: participantsKey(message, self) };
}

export function participantsKey(message: Message, self: number): string {
  const people = message.display_recipient as { id: number }[];
  return directKey(people.map((each) => each.id), self);
}

/** Keep a message that was fetched or has arrived. One that is known is brought up to date. */
export function keepMessage(state: State, message: Message): Message {
  const known = state.messages.get(message.id);
  if (known) {
    if (!message.buttons) delete known.buttons;
    return Object.assign(known, message);
  }
  state.messages.set(message.id, message);
  return message;
}

function message(state: State, event: EventOf<"message">, changes: Changes): void {
  const arrived: Message = { ...event.message, flags: event.flags ?? event.message.flags };
  keepMessage(state, arrived);
  changes.mark("feeds", `message:${arrived.id}`);
  state.maxMessageId = Math.max(state.maxMessageId, arrived.id);
  const place = placeOf(arrived, state.userId);
  if (place.kind === "direct") {
    state.doubtful.delete(place.key);
    state.conversations.set(place.key, Math.max(arrived.id, state.conversations.get(place.key) ?? 0));
    changes.mark("conversations");
  } else {
    const channel = state.channels.get(place.channelId);
    if (channel) {
      channel.is_recently_active = true;
      channel.first_message_id ??= arrived.id;
    }
    changes.mark(`topics:${place.channelId}`);
  }
  stopTyping(state, place.kind === "direct" ? place.key : topicKey(place.channelId, place.topic), arrived.sender_id, changes);
  if (arrived.flags.includes("read")) return;
  state.unread.add(arrived.id, place);
  setMention(state, arrived.id, arrived.flags);
  changes.mark("unread");
}

/** Count an unread message as a mention, or not: wildcards do not count in what is muted. */
function setMention(state: State, id: number, flags: string[]): void {
  const place = state.unread.places.get(id)!;
  const isByWildcard = flags.some((flag) => flag.endsWith("wildcard_mentioned"));
  if (flags.includes("mentioned") || (isByWildcard && !isMuted(state, place))) state.unread.mentions.add(id);
  else state.unread.mentions.delete(id);
}

function isMuted(state: State, place: Place): boolean {
  if (place.kind === "direct") return false;
  const policy = state.topicPolicies.get(topicKey(place.channelId, place.topic))?.visibility_policy ?? Policy.INHERIT;
  if (policy !== Policy.INHERIT) return policy === Policy.MUTED;
  return state.channels.get(place.channelId)?.is_muted ?? false;
}

/**
 * Count the mentions of a channel, or of one of its topics, anew: what is muted there has changed.
 *
 * Messages that were unread before register are counted as they were then, unless they were fetched.
 */
export function recountMentions(state: State, changes: Changes, channelId: number, topic?: string): void {
  const topics = topic === undefined ? state.unread.topics.get(channelId)?.values() : [{ ids: state.unread.inTopic(channelId, topic) }];
  for (const { ids } of topics ?? []) {
    for (const id of ids) {
      const flags = state.messages.get(id)?.flags;
      if (flags) setMention(state, id, flags);
      else state.doubtfulMentions.add(channelId);
    }
  }
  changes.mark("unread");
}

/** Keep what is found out about unread messages of a channel that are not held: `mentions` are those that mention the user. */
export function settleMentions(state: State, channelId: number, mentions: readonly Pick<Message, "id" | "flags">[], changes: Changes): void {
  if (!state.doubtfulMentions.delete(channelId)) return;
  const found = new Map(mentions.map(({ id, flags }) => [id, flags]));
  for (const { ids } of state.unread.topics.get(channelId)?.values() ?? []) {
    for (const id of ids) if (!state.messages.has(id)) setMention(state, id, found.get(id) ?? []);
  }
  changes.mark("unread");
}

function updateMessage(state: State, event: EventOf<"update_message">, changes: Changes): void {
  const edited = state.messages.get(event.message_id);
  if (edited && event.rendered_content !== undefined) {
    edited.content = event.rendered_content;
    edited.is_me_message = event.is_me_message ?? edited.is_me_message;
    edited.flags = event.flags ?? edited.flags;
    if (!event.rendering_only) edited.last_edit_timestamp = event.edit_timestamp;
    changes.mark(`message:${edited.id}`);
  }
  if (event.rendered_content !== undefined && event.flags && state.unread.has(event.message_id)) {
    setMention(state, event.message_id, event.flags);
    changes.mark("unread");
  }
  if (event.subject === undefined && event.new_stream_id === undefined) return;
  for (const id of event.message_ids) {
    const moved = state.messages.get(id);
    // A move names both where the messages were, and what is new.
    const channelId = event.new_stream_id ?? event.stream_id!;
    const topic = event.subject ?? event.orig_subject!;
    if (moved) {
      moved.stream_id = channelId;
      moved.subject = topic;
      moved.display_recipient = state.channels.get(channelId)?.name ?? moved.display_recipient;
      moved.topic_links = event.topic_links ?? moved.topic_links;
      if (event.new_stream_id !== undefined || unmarked(topic) !== unmarked(event.orig_subject!)) moved.last_moved_timestamp = event.edit_timestamp;
      changes.mark(`message:${id}`);
    }
    if (state.unread.has(id)) {
      state.unread.add(id, { kind: "topic", channelId, topic });
      if (moved) setMention(state, id, moved.flags);
      else state.doubtfulMentions.add(channelId);
      changes.mark("unread");
    }
    changes.mark(`topics:${channelId}`);
  }
  if (event.new_stream_id !== undefined) forgetPinned(state, event.message_ids, changes);
  changes.mark("feeds", `topics:${event.stream_id!}`);
}

/** Return a topic's name without the mark of resolved ones: it comes and goes without a move. */
const unmarked = (topic: string) => topic.replace(/^(✔ +)+/, "");

function deleteMessage(state: State, event: EventOf<"delete_message">, changes: Changes): void {
  const ids = "message_ids" in event ? event.message_ids : [event.message_id];
  for (const id of ids) {
    state.messages.delete(id);
    if (state.unread.remove(id)) changes.mark("unread");
    if (state.starred.delete(id)) changes.mark("starred");
    changes.mark(`message:${id}`);
  }
  forgetPinned(state, ids, changes);
  changes.mark("feeds");
  if (event.message_type === "stream") changes.mark(`topics:${event.stream_id!}`);
  else {
    forgetNewest(state, new Set(ids));
    changes.mark("conversations");
  }
}

/** Find the newest messages of conversations anew after those were deleted. */
function forgetNewest(state: State, deleted: ReadonlySet<number>): void {
  for (const [key, newest] of state.conversations) {
    if (!deleted.has(newest)) continue;
    let found = -1;
    for (const each of state.messages.values()) {
      if (each.type === "private" && each.id > found && participantsKey(each, state.userId) === key) found = each.id;
    }
    if (found >= 0) state.conversations.set(key, found);
    else state.doubtful.add(key);
  }
}

/** Keep what is found out about a doubtful conversation: its newest message, if there is one. */
export function settleConversation(state: State, key: string, newest: number | undefined, changes: Changes): void {
  if (!state.doubtful.delete(key)) return;
  if (newest === undefined) state.conversations.delete(key);
  else state.conversations.set(key, newest);
  changes.mark("conversations");
}

function updateMessageFlags(state: State, event: EventOf<"update_message_flags">, changes: Changes): void {
  const { flag, op } = event;
  const ids = event.all ? [...state.unread.places.keys()] : event.messages;
  for (const id of ids) {
    const changed = state.messages.get(id);
    if (changed) {
      const others = changed.flags.filter((each) => each !== flag);
      changed.flags = op === "add" ? [...others, flag] : others;
      changes.mark(`message:${id}`);
    }
    if (flag === "starred") {
      if (op === "add") state.starred.add(id);
      else state.starred.delete(id);
      changes.mark("starred");
    }
    if (flag === "read") {
      if (op === "add") state.unread.remove(id);
      else markUnread(state, id, event.message_details?.[id]);
      changes.mark("unread");
    }
  }
}

function markUnread(state: State, id: number, details: MessageDetails | undefined): void {
  if (!details) return;
  const place: Place =
    details.type === "stream"
      ? { kind: "topic", channelId: details.stream_id!, topic: details.topic! }
      : { kind: "direct", key: directKey(details.user_ids!, state.userId) };
  state.unread.add(id, place);
  if (details.mentioned) state.unread.mentions.add(id);
}

function reaction(state: State, event: EventOf<"reaction">, changes: Changes): void {
  const reacted = state.messages.get(event.message_id);
  if (!reacted) return;
  const is = (one: Reaction) =>
    one.user_id === event.user_id && one.reaction_type === event.reaction_type && one.emoji_code === event.emoji_code;
  const others = reacted.reactions.filter((each) => !is(each));
  const { emoji_name, emoji_code, reaction_type, user_id } = event;
  reacted.reactions = event.op === "add" ? [...others, { emoji_name, emoji_code, reaction_type, user_id }] : others;
  changes.mark(`message:${reacted.id}`);
}

function messageButtons(state: State, event: EventOf<"message_buttons">, changes: Changes): void {
  const changed = state.messages.get(event.message_id);
  if (!changed) return;
  changed.buttons = event.buttons;
  changes.mark(`message:${changed.id}`);
}

function submessage(state: State, event: EventOf<"submessage">, changes: Changes): void {
  const changed = state.messages.get(event.message_id);
  if (!changed) return;
  const { submessage_id, sender_id, message_id, content, msg_type } = event;
  // A message that was fetched after the queue was made has it already.
  if (changed.submessages.some((each) => each.id === submessage_id)) return;
  changed.submessages = [...changed.submessages, { id: submessage_id, sender_id, message_id, content, msg_type }];
  changes.mark(`message:${changed.id}`);
}

function typing(state: State, event: EventOf<"typing">, changes: Changes): void {
  const key =
    event.message_type === "stream"
      ? topicKey(event.stream_id, event.topic)
      : directKey(event.recipients.map((each) => each.user_id), state.userId);
  const sender = event.sender.user_id;
  if (sender === state.userId) return;
  if (event.op === "stop") stopTyping(state, key, sender, changes);
  else {
    const typists = state.typing.get(key) ?? new Map<number, number>();
    state.typing.set(key, typists.set(sender, Date.now()));
    changes.mark("typing");
  }
}

function stopTyping(state: State, key: string, sender: number, changes: Changes): void {
  const typists = state.typing.get(key);
  if (!typists?.delete(sender)) return;
  if (!typists.size) state.typing.delete(key);
  changes.mark("typing");
}

export const messageReducers: Reducers = {
  message,
  update_message: updateMessage,
  delete_message: deleteMessage,
  update_message_flags: updateMessageFlags,
  reaction,
  message_buttons: messageButtons,
  submessage,
  typing,
};
