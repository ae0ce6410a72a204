/** The model: a state, and the events that change it. */

import { Changes } from "./changes";
import type { ServerEvent } from "./events";
import { reducers } from "./reducers";
import type { State } from "./state";

export class Model {
  readonly changes = new Changes();

  constructor(public state: State) {}

  /** Apply events in their order; an event that was applied before is ignored. */
  applyAll(events: readonly ServerEvent[]): void {
    for (const event of events) this.apply(event);
    this.changes.flush();
  }

  apply(event: ServerEvent): void {
    if (event.id !== undefined) {
      if (event.id <= this.state.lastEventId) return;
      this.state.lastEventId = event.id;
    }
    // The compiler does not see that the reducer found by its type takes the event.
    const reduce = reducers[event.type] as ((state: State, event: ServerEvent, changes: Changes) => void) | undefined;
    reduce?.(this.state, event, this.changes);
  }
}
