/** Whether a message may be sent, and why not: as the server decides, but before it is asked. */

import { i18n } from "../../i18n";
import { emptyTopicName } from "../../model/names";
import { admits, channelPermits, readsWithoutSubscription, realmPermits, self } from "../../model/permissions";
import { type Channel, directKey, type State } from "../../model/state";
import type { Field, Target } from "./target";

export interface Refusal {
  reason: string;
  /** The field in which it can be mended. */
  field?: Field;
}

const RESOLVED_PREFIX = /^(?:✔ ?)+/u;
/** Mentioning all of a channel with more subscribers needs a permission. */
export const LARGE_AUDIENCE = 15;
export const MAX_DM_RECIPIENTS = 100;

/** Count code points, which is what limits of the server are of. */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length - 1; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00) length -= 1;
  }
  return length;
}

/** Return the topic as the server reads it: other names of the empty topic are the empty string. */
export function cleanTopic(state: State, topic: string): string {
  const trimmed = topic.trim();
  const { realm_empty_topic_display_name: display } = state.fields;
  return ["(no topic)", display, emptyTopicName(state)].includes(trimmed) ? "" : trimmed;
}

function topicsPolicy(state: State, channel: Channel): string {
  return channel.topics_policy === "inherit" || !channel.topics_policy
    ? String(state.fields.realm_topics_policy ?? "allow_empty_topic")
    : channel.topics_policy;
}

export function allowsEmptyTopic(state: State, channel: Channel): boolean {
  return topicsPolicy(state, channel) !== "disable_empty_topic";
}

export function allowsNamedTopics(state: State, channel: Channel): boolean {
  return topicsPolicy(state, channel) !== "empty_topic_only";
}

/** Return why the user may not post in a channel at all; undefined if allowed. */
export function channelRefusal(state: State, channel: Channel): string | undefined {
  if (channel.is_archived) return i18n.t("This channel is archived. No messages can be sent to it.");
  if (!channel.is_subscribed && !readsWithoutSubscription(state, channel)) {
    return i18n.t("Only subscribers can send messages to this channel.");
  }
  if (!channelPermits(state, channel, "can_send_message_group")) {
    return i18n.t("You do not have permission to post in this channel.");
  }
  return undefined;
}

/** Return the length of a topic as its limit counts it: the mark of resolved topics does not count. */
export function lengthOfTopic(topic: string): number {
  return lengthOf(topic.replace(RESOLVED_PREFIX, ""));
}

function topicTargetRefusal(state: State, to: Target & { kind: "topic" }): Refusal | undefined {
  if (to.channelId === undefined) return { reason: i18n.t("Choose a channel."), field: "Channel" };
  const channel = state.channels.get(to.channelId);
  if (!channel) return { reason: i18n.t("This channel does not exist, or you have no access to it."), field: "Channel" };
  const refused = channelRefusal(state, channel);
  if (refused) return { reason: refused, field: "Channel" };
  const topic = cleanTopic(state, to.topic);
  if (!topic && !allowsEmptyTopic(state, channel)) {
    return { reason: i18n.t("Topics are required in this channel. Name one."), field: "Topic" };
  }
  if (topic && !allowsNamedTopics(state, channel)) {
    const name = emptyTopicName(state);
    return { reason: i18n.t("Only the topic “{name}” is allowed in this channel.", { name }), field: "Topic" };
  }
  const limit = Number(state.fields.max_topic_length ?? 60);
  if (lengthOfTopic(topic) > limit) {
    return { reason: i18n.t("The topic is too long: at most {limit} characters.", { limit }), field: "Topic" };
  }
  return undefined;
}

function directTargetRefusal(
  state: State,
  to: Target & { kind: "direct" },
  hasBegun: (key: string) => boolean,
): Refusal | undefined {
  const field = "People";
  if (!to.userIds.length) return { reason: i18n.t("Choose who gets this message."), field };
  if (to.userIds.length > MAX_DM_RECIPIENTS) {
    return { reason: i18n.t("A direct message has at most {limit} recipients.", { limit: MAX_DM_RECIPIENTS }), field };
  }
  const people = to.userIds.map((id) => state.users.get(id));
  if (people.includes(undefined)) return { reason: i18n.t("One of these people is not known to you."), field };
  const gone = people.find((each) => !each!.is_active);
  if (gone) return { reason: i18n.t("{name} has a deactivated account, and gets no messages.", { name: gone.full_name }), field };
  const persons = people.filter((each) => !each!.is_bot && each!.user_id !== state.userId);
  const me = self(state);
  if (!persons.length || me?.is_bot) return undefined;
  const permitted = state.fields.realm_direct_message_permission_group;
  if (![...persons.map((each) => each!.user_id), state.userId].some((id) => admits(state, permitted, id))) {
    return { reason: i18n.t("You do not have permission to send direct messages to these people."), field };
  }
  if (!realmPermits(state, "direct_message_initiator_group") && !hasBegun(directKey(to.userIds, state.userId))) {
    return { reason: i18n.t("You do not have permission to begin direct message conversations."), field };
  }
  return undefined;
}

/** Return why the user may not write to a target, whatever the text; undefined if allowed. */
export function targetRefusal(
  state: State,
  to: Target,
  hasBegun = (key: string) => state.conversations.has(key),
): Refusal | undefined {
  return to.kind === "topic" ? topicTargetRefusal(state, to) : directTargetRefusal(state, to, hasBegun);
}

/** Return why a text cannot be sent; undefined if it can. */
export function contentRefusal(state: State, content: string): Refusal | undefined {
  if (!content.trim()) return { reason: i18n.t("Write a message first."), field: "Message" };
  const over = overLimit(state, content);
  if (over > 0) {
    return {
      reason: i18n.t("The message is too long, by {over, plural, one {# character} other {# characters}}.", { over }),
      field: "Message",
    };
  }
  return undefined;
}

/** Return by how many characters the text is over the limit; negative if it is not. */
export function overLimit(state: State, content: string): number {
  const limit = Number(state.fields.max_message_length ?? 10_000);
  if (content.length <= limit) return content.length - limit;
  return lengthOf(content.trimEnd()) - limit;
}

/** Return a text without its code, in which nothing is a mention. */
export function withoutCode(content: string): string {
  const lines: string[] = [];
  let fence: string | undefined;
  for (const line of content.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence !== undefined) {
      if (mark && mark[1]!.startsWith(fence) && !mark[2]!.trim()) fence = undefined;
      continue;
    }
    const language = mark?.[2]?.trim().split(/\s/)[0] ?? "";
    // What is quoted or hidden is text all the same.
    if (mark && language !== "quote" && language !== "spoiler") fence = mark[1]!;
    else lines.push(line);
  }
  return lines.join("\n").replace(/(`+)(?!`)[^\n]*?[^`]\1(?!`)/g, "");
}

const CHANNEL_WILDCARD = /@\*\*(?:all|everyone|channel|stream)\*\*/;

/** Return how many people a text would mention as all of a channel; 0 if few. */
export function wildcardAudience(state: State, to: Target, content: string): number {
  if (to.kind !== "topic" || to.channelId === undefined || !content.includes("@**")) return 0;
  if (!CHANNEL_WILDCARD.test(withoutCode(content))) return 0;
  const count = state.channels.get(to.channelId)?.subscriber_count ?? 0;
  return count > LARGE_AUDIENCE ? count : 0;
}

/** Return why these mentions of all may not be sent; undefined if they may. */
export function wildcardRefusal(state: State, to: Target, content: string): Refusal | undefined {
  if (!wildcardAudience(state, to, content) || realmPermits(state, "can_mention_many_users_group")) return undefined;
  return { reason: i18n.t("You do not have permission to mention everyone in this channel."), field: "Message" };
}

/** Return the ids of the people that a text mentions, not silently. */
export function mentionedIds(content: string, idOfName: (name: string) => number | undefined): number[] {
  if (!content.includes("@**")) return [];
  const found = new Set<number>();
  for (const [, name, id] of withoutCode(content).matchAll(/@\*\*([^*`\n|]*)(?:\|(\d{1,9}))?\*\*/g)) {
    const known = id === undefined ? idOfName(name!) : Number(id);
    if (known !== undefined) found.add(known);
  }
  return [...found];
}
