/** The state in a form that tabs can send to each other. */

import type { State } from "./state";
import { Unread } from "./unread";

export type Snapshot = Omit<State, "unread" | "messages"> & {
  unread: { places: Unread["places"]; mentions: Unread["mentions"]; isIncomplete: boolean };
};

/** Return a copy of the state without messages, which each tab fetches as it shows them. */
export function snapshotOf({ messages: _, unread, ...state }: State): Snapshot {
  return {
    ...state,
    unread: { places: unread.places, mentions: unread.mentions, isIncomplete: unread.isIncomplete },
  };
}

export function stateOfSnapshot({ unread: given, ...snapshot }: Snapshot): State {
  const unread = new Unread();
  for (const [id, place] of given.places) unread.add(id, place);
  for (const id of given.mentions) unread.mentions.add(id);
  unread.isIncomplete = given.isIncomplete;
  return { ...snapshot, unread, messages: new Map() };
}
