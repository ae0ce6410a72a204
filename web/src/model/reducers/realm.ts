import type { Changes } from "../changes";
import type { State } from "../state";
import type { Reducer, ServerEvent } from ".";

function realm(state: State, event: ServerEvent, changes: Changes): void {
  if (event.op !== "update" && event.op !== "update_dict") return;
  changes.mark("realm");
  const { fields } = state;
  const changed = event.op === "update" ? { [event.property]: event.value } : event.data;
  for (const [name, value] of Object.entries(changed)) fields[`realm_${name}`] = value;
  // The address in effect: the organization's, or else the server's.
  if ("jitsi_server_url" in changed) fields.jitsi_server_url = changed.jitsi_server_url ?? fields.server_jitsi_server_url;
}

/** Keep a field that each event carries whole. */
function whole(field: string, name: string, part: "realm" | "emoji" | "linkifiers" | "bots" = "realm"): Reducer {
  return (state, event, changes) => {
    changes.mark(part);
    state.fields[field] = event[name];
  };
}

/** Profile fields are sent as a whole; values of those that are gone are gone as well. */
function profileFields(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("realm", "users");
  state.fields.custom_profile_fields = event.fields;
  const ids = new Set<string>(event.fields.map((each: { id: number }) => String(each.id)));
  for (const { profile_data } of state.users.values()) {
    for (const id of Object.keys(profile_data ?? {})) if (!ids.has(id)) delete profile_data![id];
  }
}

function realmBot(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("bots");
  const { bot } = event;
  const bots: { user_id: number }[] = state.fields.realm_bots ?? [];
  const others = bots.filter((each) => each.user_id !== bot.user_id);
  const before = bots.find((each) => each.user_id === bot.user_id);
  state.fields.realm_bots = event.op === "delete" ? others : [...others, { ...before, ...bot }];
}

function realmDomains(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("realm");
  const changed = event.realm_domain ?? { domain: event.domain };
  const domains: { domain: string }[] = state.fields.realm_domains ?? [];
  const others = domains.filter((each) => each.domain !== changed.domain);
  state.fields.realm_domains = event.op === "remove" ? others : [...others, changed];
}

function settingsDefault(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("realm");
  state.fields.realm_user_settings_defaults = {
    ...state.fields.realm_user_settings_defaults,
    [event.property]: event.value,
  };
}

export const realmReducers: Record<string, Reducer> = {
  realm,
  realm_bot: realmBot,
  realm_domains: realmDomains,
  realm_emoji: whole("realm_emoji", "realm_emoji", "emoji"),
  realm_linkifiers: whole("realm_linkifiers", "realm_linkifiers", "linkifiers"),
  realm_playgrounds: whole("realm_playgrounds", "realm_playgrounds"),
  realm_user_settings_defaults: settingsDefault,
  custom_profile_fields: profileFields,
  default_streams: whole("realm_default_streams", "default_streams"),
  default_stream_groups: whole("realm_default_stream_groups", "default_stream_groups"),
};
