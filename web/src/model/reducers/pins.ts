import type { Changes } from "../changes";
import type { EventOf } from "../events";
import type { State } from "../state";
import type { Reducers } from "./reducer";

function pinnedTopics(state: State, event: EventOf<"pinned_topics">, changes: Changes): void {
  setList(state.pinnedTopics, event.stream_id, event.topics, changes);
}

function pinnedMessages(state: State, event: EventOf<"pinned_messages">, changes: Changes): void {
  setList(state.pinnedMessages, event.stream_id, event.message_ids, changes);
}

function setList<Item>(lists: Map<number, Item[]>, channelId: number, list: Item[], changes: Changes): void {
  if (list.length) lists.set(channelId, list);
  else lists.delete(channelId);
  changes.mark("pins");
}

/** Forget the pins of a channel that the user has left: no event has them any more. */
export function forgetPins(state: State, channelId: number, changes: Changes): void {
  setList(state.pinnedTopics, channelId, [], changes);
  setList(state.pinnedMessages, channelId, [], changes);
}

/** Forget the pins of messages that are gone, or have left their channel: the list of another one follows. */
export function forgetPinned(state: State, ids: readonly number[], changes: Changes): void {
  for (const [channelId, pinned] of state.pinnedMessages) {
    setList(state.pinnedMessages, channelId, pinned.filter((id) => !ids.includes(id)), changes);
  }
}

export const pinReducers: Reducers = {
  pinned_topics: pinnedTopics,
  pinned_messages: pinnedMessages,
};
