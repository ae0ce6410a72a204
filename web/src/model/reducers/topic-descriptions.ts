import type { Changes } from "../changes";
import type { EventOf } from "../events";
import { type State, topicKey } from "../state";
import type { Reducers } from "./reducer";

function changed(state: State, event: EventOf<"topic_descriptions">, changes: Changes): void {
  changes.mark("topicDescriptions");
  for (const each of event.topics) {
    const key = topicKey(event.stream_id, each.topic);
    if (each.description) state.topicDescriptions.set(key, { ...each, stream_id: event.stream_id });
    else state.topicDescriptions.delete(key);
  }
}

/** Forget the descriptions of a channel that the user has left: no event has them any more. */
export function forgetDescriptions(state: State, channelId: number, changes: Changes): void {
  changes.mark("topicDescriptions");
  for (const [key, each] of state.topicDescriptions) if (each.stream_id === channelId) state.topicDescriptions.delete(key);
}

export const topicDescriptionReducers: Reducers = { topic_descriptions: changed };
