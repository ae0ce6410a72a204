import type { Changes } from "../changes";
import type { State } from "../state";
import type { Reducer, ServerEvent } from ".";

function realm(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("realm");
  if (event.op === "update") state.fields[`realm_${event.property}`] = event.value;
  else if (event.op === "update_dict") {
    for (const [name, value] of Object.entries(event.data)) state.fields[`realm_${name}`] = value;
  }
}

/** Keep a field that each event carries whole. */
function whole(field: string, name: string, part: "realm" | "emoji" | "linkifiers" | "bots" = "realm"): Reducer {
  return (state, event, changes) => {
    changes.mark(part);
    state.fields[field] = event[name];
  };
}

export const realmReducers: Record<string, Reducer> = {
  realm,
  realm_emoji: whole("realm_emoji", "realm_emoji", "emoji"),
  realm_linkifiers: whole("realm_linkifiers", "realm_linkifiers", "linkifiers"),
  realm_playgrounds: whole("realm_playgrounds", "realm_playgrounds"),
  custom_profile_fields: whole("custom_profile_fields", "fields"),
  default_streams: whole("realm_default_streams", "default_streams"),
  default_stream_groups: whole("realm_default_stream_groups", "default_stream_groups"),
};
