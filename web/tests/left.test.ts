import { h, options, render, type VNode } from "preact";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ServerEvent } from "../src/model/events";
import { FAKE_DOCUMENT, FakeElement } from "./fake-dom";
import { aMessage, aModel, aUser, SELF } from "./fakes";

const CHANNELS = 200;
const held = vi.hoisted(() => ({ model: undefined as any }));
vi.mock("../src/app", () => ({
  state: () => held.model.state,
  onBatch: () => () => {},
  topics: { of: (id: number) => (id === 1 ? [{ name: "plans", max_id: 2 }, { name: "parts", max_id: 1 }] : []) },
}));
vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });
vi.stubGlobal("location", new URL("https://chat.example/#narrow/channel/1-channel-1"));
vi.stubGlobal("matchMedia", () => ({ addEventListener: () => undefined }));
vi.stubGlobal("addEventListener", () => undefined);
vi.stubGlobal("document", FAKE_DOCUMENT);

const { startRouter } = await import("../src/router");
const { announce } = await import("../src/ui/watch");
const { Conversations } = await import("../src/views/left/conversations");

/** The components that were rendered since it was emptied, by what they show. */
let rendered = new Set<string>();
const hooks = options as unknown as Record<"__r", ((vnode: VNode) => void) | undefined>;
const before = hooks.__r;
hooks.__r = (vnode) => {
  before?.(vnode);
  const { channel, name, of } = vnode.props as { channel?: { name: string }; name?: string; of?: unknown };
  const isTopic = (vnode.props as { channelId?: number }).channelId !== undefined;
  if (channel) rendered.add(channel.name);
  else if (isTopic) rendered.add(`topic ${name}`);
  else if (typeof of === "string") rendered.add(`direct ${of}`);
};
afterAll(() => {
  hooks.__r = before;
});

let page: FakeElement;
let newest = 0;

const settle = () => new Promise((resolve) => setTimeout(resolve));
const names = () => [...page.having("aria-label")].map((each) => each.attributes.get("aria-label")!);

/** Let a message arrive, and return what was rendered again for it. */
async function arrive(changes: Record<string, unknown>): Promise<Set<string>> {
  rendered = new Set();
  newest += 1;
  held.model.applyAll([{ type: "message", id: newest, message: aMessage(1000 + newest, changes), flags: [] }] as unknown as ServerEvent[]);
  await settle();
  return rendered;
}

beforeEach(async () => {
  const subscriptions = Array.from({ length: CHANNELS }, (_, index) => ({ stream_id: index + 1, name: `channel ${index + 1}` }));
  held.model = aModel({ subscriptions, realm_users: [aUser(SELF, "Ada"), aUser(11, "Bert"), aUser(12, "Cora")] });
  held.model.changes.listen(announce);
  newest = 0;
  startRouter(() => held.model.state);
  page = new FakeElement("div");
  render(h(Conversations, null), page as unknown as Element);
  await settle();
  expect(names().filter((each) => /^channel \d+$/.test(each))).toHaveLength(CHANNELS);
});

afterEach(() => {
  render(null, page as unknown as Element);
});

test("a message renders the row of its channel, and no other", async () => {
  expect(await arrive({ stream_id: 7, subject: "oil" })).toEqual(new Set(["channel 7"]));
  expect(names()).toContain("channel 7, 1 unread");
  expect(await arrive({ stream_id: 8, subject: "oil" })).toEqual(new Set(["channel 8"]));
  expect(names()).toEqual(expect.arrayContaining(["channel 7, 1 unread", "channel 8, 1 unread", "Inbox, 2 unread"]));
});

test("a message renders the row of its topic, and no other", async () => {
  expect(names()).toEqual(expect.arrayContaining(["plans", "parts"]));
  expect(await arrive({ stream_id: 1, subject: "plans" })).toEqual(new Set(["channel 1", "topic plans"]));
  expect(names()).toEqual(expect.arrayContaining(["plans, 1 unread", "parts", "channel 1, 1 unread"]));
});

test("a direct message renders the row of its conversation, and no other", async () => {
  const from = (id: number) => ({ type: "private", stream_id: undefined, sender_id: id, display_recipient: [{ id: SELF }, { id }] });
  await arrive(from(11));
  await arrive(from(12));
  expect(await arrive(from(11))).toEqual(new Set(["direct 11"]));
  expect(names()).toEqual(expect.arrayContaining(["Bert, 2 unread", "Cora, 1 unread"]));
});

test("what is read renders the rows where it was unread", async () => {
  await arrive({ stream_id: 7, subject: "oil" });
  rendered = new Set();
  held.model.applyAll([{ type: "update_message_flags", id: 9, op: "add", operation: "add", flag: "read", messages: [1001], all: false }]);
  await settle();
  expect(rendered).toEqual(new Set(["channel 7"]));
  expect(names()).toContain("channel 7");
});
