import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Channel, User } from "../src/model/state";
import type { Section } from "../src/views/settings/parts/settings";
import { aModel, aUser, SELF } from "./fakes";

const OUTGOING_BOT = { user_id: 12, services: [{ base_url: "https://bots.example", interface: 1, token: "t" }] };
const model = vi.hoisted(() => ({ state: undefined as any }));
vi.mock("../src/app", () => ({ state: () => model.state, onBatch: () => () => {}, topics: {} }));
vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });
vi.stubGlobal("document", { addEventListener: () => undefined, documentElement: {}, cookie: "" });
vi.stubGlobal("location", new URL("https://chat.example"));
vi.stubGlobal("addEventListener", () => undefined);

const types = readFileSync(join(import.meta.dirname, "../src/protocol/types.ts"), "utf8");

/** Return the parameters of a request, without those that stand in its path. */
function parametersOf(call: string): string[] {
  const [, body = ""] = types.split(`  "${call}": {\n    params: {\n`);
  const names = [...body.slice(0, body.indexOf("\n    };")).matchAll(/^ {6}(\w+)\??:/gm)].map((found) => found[1]!);
  return names.filter((name) => !call.includes(`{${name}}`));
}

model.state = aModel({
  realm_users: [
    { ...aUser(SELF, "Ada"), is_admin: true, is_owner: true },
    { ...aUser(12, "Robo"), is_bot: true, bot_type: 3, bot_owner_id: SELF },
  ],
  realm_bots: [OUTGOING_BOT],
  // Everything that may be set for oneself and has a default for new users, by the protocol.
  realm_user_settings_defaults: Object.fromEntries(parametersOf("PATCH /realm/user_settings_defaults").map((name) => [name, null])),
  server_web_public_streams_enabled: true,
  realm_enable_spectator_access: true,
}).state;

const sections = await import("../src/views/settings/sections");
const { youSections } = await import("../src/views/settings/profile");
const { botSections } = await import("../src/views/settings/bot-settings");
const organization = await import("../src/views/organization/settings");
const channels = await import("../src/views/channels/channel-page");
const groups = await import("../src/views/groups/groups-dialog");
const { administrationSections } = await import("../src/views/people/manage-user");

const channel = model.state.channels.get(1) as Channel;
const bot = model.state.users.get(12) as User;
const person = model.state.users.get(SELF) as User;
const personal = () => [...sections.appearanceSections(), ...sections.notificationSections(), ...sections.privacySections()];

const OLDER_POLICIES = [
  "add_custom_emoji_policy", "bot_creation_policy", "create_private_stream_policy", "create_public_stream_policy",
  "create_web_public_stream_policy", "delete_own_message_policy", "edit_topic_policy", "invite_to_realm_policy",
  "invite_to_stream_policy", "move_messages_between_streams_policy", "private_message_policy", "user_group_edit_policy",
  "wildcard_mention_policy",
];

interface Offer {
  /** Settings of the pages. */
  sections: Section[];
  /** Parameters that a form sends which is no list of settings, with its file below `views`. */
  forms?: Record<string, string>;
  /** Parameters that no page offers, with the reason. */
  leftOut?: Record<string, string>;
}

const OFFERS: Record<string, () => Offer> = {
  "PATCH /settings": () => ({
    sections: [...personal(), ...youSections()],
    forms: { email: "settings/account.tsx", old_password: "settings/account.tsx", new_password: "settings/account.tsx" },
    leftOut: {
      left_side_userlist: "the list of people stands on the other side than the conversations",
      target_users: "the settings of many users are changed by programs",
    },
  }),
  "PATCH /realm/user_settings_defaults": () => ({
    sections: organization.defaultSections(),
    leftOut: { left_side_userlist: "the list of people stands on the other side than the conversations" },
  }),
  "PATCH /realm": () => ({
    sections: [...organization.aboutSections(), ...organization.settingSections(), ...organization.permissionSections()],
    forms: { authentication_methods: "organization/settings.tsx" },
    leftOut: {
      can_manage_billing_group: "there is nothing to bill for",
      workplace_users_group: "there is nothing to bill for",
      gif_rating_policy: "this client has no search for GIFs",
      giphy_rating: "the older form of gif_rating_policy",
      string_id: "the server changes no address of an organization after it was made",
      allow_edit_history: "the older form of message_edit_history_visibility_policy",
      mandatory_topics: "the older form of topics_policy",
      ...Object.fromEntries(OLDER_POLICIES.map((name) => [name, "the older form of a permission that is given to groups"])),
    },
  }),
  "PATCH /streams/{stream_id}": () => ({
    sections: [...channels.generalSections(channel), ...channels.permissionSections()],
    forms: {
      new_name: "channels/requests.ts",
      is_private: "channels/requests.ts",
      is_web_public: "channels/permissions.ts",
      history_public_to_subscribers: "channels/permissions.ts",
      is_archived: "channels/channel-page.tsx",
    },
  }),
  "PATCH /users/{user_id_or_email}": () => ({
    sections: administrationSections(person),
    forms: { profile_data: "people/profile-answers.tsx" },
    leftOut: { new_email: "it is always refused: people confirm addresses themselves" },
  }),
  "PATCH /bots/{bot_id}": () => ({
    sections: [...administrationSections(bot), ...botSections(bot, OUTGOING_BOT as never)],
    forms: { file: "settings/bot-settings.tsx" },
    leftOut: { config_data: "the server refuses it: it has no embedded bots" },
  }),
  "PATCH /user_groups/{user_group_id}": () => ({
    sections: [...groups.aboutSections(), ...groups.permissionSections()],
    forms: { deactivated: "groups/groups-dialog.tsx" },
  }),
};

const VIEWS = join(import.meta.dirname, "../src/views");

describe("what may be changed by a request", () => {
  it.each(Object.keys(OFFERS))("is offered by a page, or left out for a reason: %s", (call) => {
    const { sections: offered, forms = {}, leftOut = {} } = OFFERS[call]!();
    const parameters = parametersOf(call);
    expect(parameters).not.toEqual([]);
    const names = new Set(offered.flatMap(({ settings }) => settings.map(({ name }) => name)));
    const elsewhere = new Set([...Object.keys(forms), ...Object.keys(leftOut)]);
    expect(parameters.filter((name) => !names.has(name) && !elsewhere.has(name))).toEqual([]);
    // What is listed here is a parameter, and has not got a setting meanwhile.
    expect([...elsewhere].filter((name) => names.has(name) || !parameters.includes(name))).toEqual([]);
    for (const [name, file] of Object.entries(forms)) expect(readFileSync(join(VIEWS, file), "utf8")).toMatch(new RegExp(`\\b${name}\\b`));
  });

  it("is sent by its name in the protocol", () => {
    const known = new Set(Object.keys(OFFERS).flatMap(parametersOf));
    const own = ["privacy", "name"];
    const declared = Object.values(OFFERS).flatMap((offer) => offer().sections.flatMap(({ settings }) => settings.map(({ name }) => name)));
    expect(declared.filter((name) => !known.has(name) && !own.includes(name))).toEqual([]);
  });
});
