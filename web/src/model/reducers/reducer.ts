import type { Changes } from "../changes";
import type { EventOf, EventType } from "../events";
import type { State } from "../state";

export type Reducer<Type extends EventType> = (state: State, event: EventOf<Type>, changes: Changes) => void;

/** What events do to the state, by their type; those of other types do nothing. */
export type Reducers = { [Type in EventType]?: Reducer<Type> };
