import type { Changes } from "../changes";
import type { EventOf } from "../events";
import type { State } from "../state";
import type { Reducers } from "./reducer";

function realm(state: State, event: EventOf<"realm">, changes: Changes): void {
  if (event.op !== "update" && event.op !== "update_dict") return;
  changes.mark("realm");
  const { fields } = state;
  const { rendered_description: _, ...changed }: Record<string, unknown> = event.op === "update" ? { [event.property]: event.value } : event.data;
  for (const [name, value] of Object.entries(changed)) Object.assign(fields, { [`realm_${name}`]: value });
  // The address in effect: the organization's, or else the server's.
  if ("jitsi_server_url" in changed) fields.jitsi_server_url = fields.realm_jitsi_server_url ?? fields.server_jitsi_server_url;
}

function realmEmoji(state: State, event: EventOf<"realm_emoji">, changes: Changes): void {
  // Only clients that have asked for them get single changes.
  if (event.op !== "update") return;
  changes.mark("emoji");
  state.fields.realm_emoji = event.realm_emoji;
}

function realmLinkifiers(state: State, event: EventOf<"realm_linkifiers">, changes: Changes): void {
  changes.mark("linkifiers");
  state.fields.realm_linkifiers = event.realm_linkifiers;
}

function realmPlaygrounds(state: State, event: EventOf<"realm_playgrounds">, changes: Changes): void {
  changes.mark("realm", "bodies");
  state.fields.realm_playgrounds = event.realm_playgrounds;
}

function slashCommands(state: State, event: EventOf<"realm_slash_commands">, changes: Changes): void {
  changes.mark("realm");
  state.fields.realm_slash_commands = event.realm_slash_commands;
}

function defaultStreams(state: State, event: EventOf<"default_streams">, changes: Changes): void {
  changes.mark("realm");
  state.fields.realm_default_streams = event.default_streams;
}

function defaultStreamGroups(state: State, event: EventOf<"default_stream_groups">, changes: Changes): void {
  changes.mark("realm");
  state.fields.realm_default_stream_groups = event.default_stream_groups;
}

/** Profile fields are sent as a whole; values of those that are gone are gone as well. */
function profileFields(state: State, event: EventOf<"custom_profile_fields">, changes: Changes): void {
  changes.mark("realm", "users");
  state.fields.custom_profile_fields = event.fields;
  const ids = new Set<string>(event.fields.map((each) => String(each.id)));
  for (const { profile_data } of state.users.values()) {
    for (const id of Object.keys(profile_data ?? {})) if (!ids.has(id)) delete profile_data![id];
  }
}

function realmBot(state: State, event: EventOf<"realm_bot">, changes: Changes): void {
  changes.mark("bots");
  const bots = state.fields.realm_bots ?? [];
  const others = bots.filter((each) => each.user_id !== event.bot.user_id);
  const before = bots.find((each) => each.user_id === event.bot.user_id);
  if (event.op === "delete") state.fields.realm_bots = others;
  else if (event.op === "add") state.fields.realm_bots = [...others, event.bot];
  else if (before) state.fields.realm_bots = [...others, { ...before, ...event.bot }];
}

function realmDomains(state: State, event: EventOf<"realm_domains">, changes: Changes): void {
  changes.mark("realm");
  const named = event.op === "remove" ? event.domain : event.realm_domain.domain;
  const others = (state.fields.realm_domains ?? []).filter(({ domain }) => domain !== named);
  state.fields.realm_domains = event.op === "remove" ? others : [...others, event.realm_domain];
}

function settingsDefault(state: State, event: EventOf<"realm_user_settings_defaults">, changes: Changes): void {
  changes.mark("realm");
  const defaults = state.fields.realm_user_settings_defaults;
  if (defaults) state.fields.realm_user_settings_defaults = { ...defaults, [event.property]: event.value };
}

export const realmReducers: Reducers = {
  realm,
  realm_bot: realmBot,
  realm_domains: realmDomains,
  realm_emoji: realmEmoji,
  realm_linkifiers: realmLinkifiers,
  realm_playgrounds: realmPlaygrounds,
  realm_slash_commands: slashCommands,
  realm_user_settings_defaults: settingsDefault,
  custom_profile_fields: profileFields,
  default_streams: defaultStreams,
  default_stream_groups: defaultStreamGroups,
};
