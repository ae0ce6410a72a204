/** Which conversations are muted, and how much is unread in the others. */

import { i18n } from "../i18n";
import { type Channel, Policy, type State, topicKey } from "./state";

export function policyOf(state: State, channelId: number, topic: string): number {
  return state.topicPolicies.get(topicKey(channelId, topic))?.visibility_policy ?? Policy.INHERIT;
}

/** Return whether a topic is muted: itself, or with its channel unless it is an exception. */
export function isTopicMuted(state: State, channelId: number, topic: string): boolean {
  const policy = policyOf(state, channelId, topic);
  if (policy === Policy.INHERIT) return state.channels.get(channelId)?.is_muted ?? false;
  return policy === Policy.MUTED;
}

/** Return whether all other people of a conversation are muted. */
export function isDirectMuted(state: State, userIds: readonly number[]): boolean {
  return userIds.length > 0 && userIds.every((id) => state.mutedUsers.has(id));
}

export interface Count {
  unread: number;
  /** Whether an unread message there mentions the user. */
  isMentioned: boolean;
}

const NOTHING: Count = { unread: 0, isMentioned: false };

function count(state: State, ids: Iterable<number>): Count {
  let unread = 0;
  let isMentioned = false;
  for (const id of ids) {
    unread += 1;
    isMentioned ||= state.unread.mentions.has(id);
  }
  return unread ? { unread, isMentioned } : NOTHING;
}

export function countOfTopic(state: State, channelId: number, topic: string): Count {
  return count(state, state.unread.inTopic(channelId, topic));
}

export function countOfDirect(state: State, key: string): Count {
  return count(state, state.unread.inDirect(key));
}

/** Return what is unread in a channel, without its muted topics. */
export function countOfChannel(state: State, channelId: number): Count {
  let unread = 0;
  let isMentioned = false;
  for (const { topic, ids } of state.unread.topics.get(channelId)?.values() ?? []) {
    const found = count(state, ids);
    isMentioned ||= found.isMentioned;
    if (!isTopicMuted(state, channelId, topic)) unread += found.unread;
  }
  return { unread, isMentioned };
}

/** Return what is unread everywhere, without what is muted. */
export function countOfAll(state: State): number {
  let unread = 0;
  for (const channelId of state.unread.topics.keys()) {
    if (state.channels.get(channelId)?.is_subscribed) unread += countOfChannel(state, channelId).unread;
  }
  for (const [key, ids] of state.unread.directs) {
    if (!isDirectMuted(state, key.split(",").map(Number))) unread += ids.size;
  }
  return unread;
}

/** Return the channels that the user is subscribed to, archived ones left out, by name. */
export function subscribedChannels(state: State): Channel[] {
  return [...state.channels.values()]
    // Spectators are subscribed to nothing, and know of what is public to the web only.
    .filter((each) => (each.is_subscribed || !state.userId) && !each.is_archived)
    .sort((one, other) => COLLATOR.compare(one.name, other.name));
}

const collators = new Map<string, Intl.Collator>();

/** Compares names as the language of the page orders them. */
export const COLLATOR = {
  compare(one: string, other: string): number {
    let collator = collators.get(i18n.locale);
    if (!collator) collators.set(i18n.locale, (collator = new Intl.Collator(i18n.locale, { sensitivity: "base", numeric: true })));
    return collator.compare(one, other);
  },
};

export function foldText(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
