/** The model: a state, and the events that change it. */

import { Changes } from "./changes";
import { reducers, type ServerEvent } from "./reducers";
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
    reducers[event.type]?.(this.state, event, this.changes);
  }
}
