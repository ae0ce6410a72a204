import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { AuditEntry } from "../src/protocol/types";
import { aModel, aUser, SELF } from "./fakes";

const model = vi.hoisted(() => ({ state: undefined as any }));
vi.mock("../src/app", () => ({ state: () => model.state, onBatch: () => () => {}, topics: {} }));
vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });
vi.stubGlobal("document", { addEventListener: () => undefined, documentElement: {}, cookie: "" });
vi.stubGlobal("location", new URL("https://chat.example"));
vi.stubGlobal("addEventListener", () => undefined);

model.state = aModel({
  realm_users: [aUser(SELF, "Iago"), aUser(12, "Hamlet")],
  realm_user_groups: [
    { id: 3, name: "role:moderators", is_system_group: true, members: [], direct_subgroup_ids: [] },
    { id: 4, name: "engineers", is_system_group: false, members: [], direct_subgroup_ids: [] },
  ] as never,
}).state;

const { sentenceOf } = await import("../src/views/organization/audit-sentences");
const { changesOf } = await import("../src/views/organization/audit-values");

function entry(action: string, rest: Partial<AuditEntry> = {}): AuditEntry {
  return { id: 1, position: 1, timestamp: 0, actor_id: SELF, action, subject_id: 12, subject_type: "user", before: {}, after: {}, ...rest };
}

const said = (action: string, rest: Partial<AuditEntry> = {}) => sentenceOf(entry(action, rest), { actor: "Iago", subject: "Hamlet" });

test("an entry is a sentence", () => {
  expect(said("user_role_changed", { before: { role: 400 }, after: { role: 300 } })).toBe("Iago made Hamlet a moderator");
  expect(said("subscribers_added", { after: { user_ids: [1, 2] } })).toBe("Iago subscribed 2 people to Hamlet");
  expect(said("user_password_changed", { subject_id: SELF })).toBe("Iago changed their password");
});

test("an action of a newer server can be read", () => {
  expect(said("robot_painted")).toBe("Iago: Robot painted (Hamlet)");
  expect(said("robots_painted", { subject_id: null, subject_type: null })).toBe("Iago: Robots painted");
  expect(said("constructor")).toBe("Iago: Constructor (Hamlet)");
});

test("values have the names that the settings have", () => {
  const changed = (action: string, before: object, after: object) => changesOf(entry(action, { before: { ...before }, after: { ...after } }));
  expect(changed("user_role_changed", { role: 400 }, { role: 300 })).toEqual([{ name: "Role", before: "Member", after: "Moderator" }]);
  expect(changed("realm_changed", { message_content_edit_limit_seconds: 600 }, { message_content_edit_limit_seconds: null })).toEqual([
    { name: "Edit within", before: "10 minutes", after: "Without a limit" },
  ]);
  expect(changed("realm_changed", { can_create_groups: 3 }, { can_create_groups: { direct_members: [12], direct_subgroups: [4] } })).toEqual([
    { name: "May create groups", before: "Moderators", after: "engineers and Hamlet" },
  ]);
  expect(changed("user_setting_changed", { enter_sends: false }, { enter_sends: true })).toEqual([{ name: "Enter sends the message", before: "Off", after: "On" }]);
  expect(changed("channel_changed", { topics_policy: "inherit" }, { topics_policy: "empty_topic_only" })[0]?.name).toBe("Topics");
});

/** Return the actions that the server records, by what its source says. */
function actionsOfServer(): string[] {
  const folder = join(import.meta.dirname, "../../server/actions");
  const files = (readdirSync(folder, { recursive: true }) as string[]).filter((name) => name.endsWith(".py"));
  const kinds = "realm|user|users|channel|channels|subscribers|subscription|messages|topic|default|group|emoji|linkifiers?|playground|profile|domain|settings|api|bot|avatar|onboarding|navigation|invitations?";
  const action = new RegExp(`"((?:${kinds})_\\w*(?:added|changed|created|deactivated|deleted|erased|expired|exported|granted|made|ordered|reactivated|regenerated|removed|renamed|resent|revoked|accepted|seen|sent|used))"`, "g");
  const found = files
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .filter((text) => /\baudit\b/.test(text))
    .flatMap((text) => [...text.matchAll(action)].map((each) => each[1]!));
  return [...new Set(found)].sort();
}

test("each action of the server has a sentence", () => {
  const actions = actionsOfServer();
  expect(actions.length).toBeGreaterThan(50);
  expect(actions).toContain("invitations_sent");
  const nameless = actions.filter((action) => said(action, { before: { name: "a" }, after: { name: "b" } }).startsWith("Iago: "));
  expect(nameless).toEqual([]);
});
