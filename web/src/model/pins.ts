/** Pinned topics and messages of channels. */

import { type Message, type State, topicKey } from "./state";

/** Return whether a message is pinned, as far as the user is subscribed to its channel. */
export function isPinned(state: State, message: Pick<Message, "id" | "stream_id">): boolean {
  return message.stream_id !== undefined && (state.pinnedMessages.get(message.stream_id)?.includes(message.id) ?? false);
}

export function isTopicPinned(state: State, channelId: number, topic: string): boolean {
  const key = topicKey(channelId, topic);
  return state.pinnedTopics.get(channelId)?.some((each) => topicKey(channelId, each) === key) ?? false;
}

/** Return names of topics with the pinned ones first, in the order of pinning. */
export function withPinnedFirst(state: State, channelId: number, names: readonly string[]): string[] {
  return [...(state.pinnedTopics.get(channelId) ?? []), ...names.filter((each) => !isTopicPinned(state, channelId, each))];
}
