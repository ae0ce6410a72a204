import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ServerEvent } from "../src/model/events";
import { Model } from "../src/model/model";
import { reducers } from "../src/model/reducers";
import { stateOf } from "../src/model/state";
import type { RegisterState } from "../src/protocol/types";
import { aModel, aUser, SELF } from "./fakes";

function applied(registered: Record<string, unknown>, ...events: Record<string, unknown>[]) {
  const model = new Model(stateOf(registered as Partial<RegisterState>));
  model.applyAll(events as unknown as ServerEvent[]);
  return model.state.fields;
}

test("domains are added, changed and removed", () => {
  const add = { type: "realm_domains", op: "add", realm_domain: { domain: "b.example", allow_subdomains: false } };
  const change = { type: "realm_domains", op: "change", realm_domain: { domain: "b.example", allow_subdomains: true } };
  const remove = { type: "realm_domains", op: "remove", domain: "a.example" };
  const before = { realm_domains: [{ domain: "a.example", allow_subdomains: false }] };
  expect(applied(before, add, change, remove).realm_domains).toEqual([{ domain: "b.example", allow_subdomains: true }]);
});

test("bots are added, changed and removed", () => {
  const add = { type: "realm_bot", op: "add", bot: { user_id: 5, full_name: "Robo", api_key: "one" } };
  const update = { type: "realm_bot", op: "update", bot: { user_id: 5, api_key: "two" } };
  expect(applied({ realm_bots: [] }, add, update).realm_bots).toEqual([{ user_id: 5, full_name: "Robo", api_key: "two" }]);
  expect(applied({ realm_bots: [] }, add, { type: "realm_bot", op: "delete", bot: { user_id: 5 } }).realm_bots).toEqual([]);
});

test("a default of new users changes alone", () => {
  const event = { type: "realm_user_settings_defaults", op: "update", property: "color_scheme", value: 2 };
  const before = { realm_user_settings_defaults: { color_scheme: 1, enter_sends: true } };
  expect(applied(before, event).realm_user_settings_defaults).toEqual({ color_scheme: 2, enter_sends: true });
});

/** Types of events that change nothing of the state, and why. */
const NOT_FOLLOWED: Record<string, string> = {
  attachment: "the list of files is fetched where it is shown",
  invites_changed: "the list of invitations is fetched where it is shown",
  realm_export: "the list of exports is fetched where it is shown",
  realm_export_consent: "is not shown",
  device: "is about phones, which are not shown",
  heartbeat: "says nothing",
  muted_topics: "is the older form of user_topic",
  update_display_settings: "is the older form of user_settings",
  update_global_notifications: "is the older form of user_settings",
  typing_edit_message: "is not shown",
  button_click_answer: "is shown below the message, and no part of the state",
  reaction_notification: "is shown by the system, and no part of the state",
  slash_command_answer: "is shown above the message box, and no part of the state",
};

test("each type of event changes the state, or is named with a reason", () => {
  const types = readFileSync(join(import.meta.dirname, "../src/protocol/types.ts"), "utf8");
  const typesOf = (name: string): string[] => {
    const [, type] = new RegExp(`export interface ${name} \\{[^}]*?\\n  type: "(\\w+)"`).exec(types) ?? [];
    if (type) return [type];
    const [, union = ""] = new RegExp(`export type ${name} =\\s*([^;]*);`).exec(types) ?? [];
    return [...union.matchAll(/\w+/g)].flatMap(([each]) => typesOf(each));
  };
  const found = [...new Set(typesOf("ServerEvent"))];
  expect(found.length).toBeGreaterThan(30);
  expect(found.filter((type) => !Object.hasOwn(reducers, type) && !Object.hasOwn(NOT_FOLLOWED, type))).toEqual([]);
  expect(Object.keys(NOT_FOLLOWED).filter((type) => !found.includes(type))).toEqual([]);
});

test("what message bodies show is marked as changed with it", () => {
  const model = aModel({ realm_users: [aUser(SELF, "Ada"), aUser(12, "Grace")], realm_user_groups: [{ id: 4, name: "a", members: [], direct_subgroup_ids: [] }] as never });
  const marked: string[] = [];
  model.changes.listen((parts) => marked.push(...parts));
  const isMarked = (event: Record<string, unknown>) => {
    marked.length = 0;
    model.applyAll([event] as unknown as ServerEvent[]);
    return marked.includes("bodies");
  };
  expect(isMarked({ type: "realm_playgrounds", realm_playgrounds: [] })).toBe(true);
  expect(isMarked({ type: "realm_user", op: "update", person: { user_id: 12, full_name: "G" } })).toBe(true);
  expect(isMarked({ type: "realm_user", op: "update", person: { user_id: 12, timezone: "UTC" } })).toBe(false);
  expect(isMarked({ type: "user_group", op: "update", group_id: 4, data: { name: "b" } })).toBe(true);
  expect(isMarked({ type: "user_group", op: "add_members", group_id: 4, user_ids: [12] })).toBe(false);
  expect(isMarked({ type: "user_group", op: "add_members", group_id: 4, user_ids: [SELF] })).toBe(true);
  expect(isMarked({ type: "stream", op: "update", stream_id: 1, property: "name", value: "x" })).toBe(true);
  expect(isMarked({ type: "user_settings", op: "update", property: "twenty_four_hour_time", value: true })).toBe(true);
});
