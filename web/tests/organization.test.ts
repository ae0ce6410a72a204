import { expect, test } from "vitest";
import type { ServerEvent } from "../src/model/events";
import { Model } from "../src/model/model";
import { stateOf } from "../src/model/state";
import type { RegisterState } from "../src/protocol/types";

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
