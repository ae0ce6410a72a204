import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { askAhead, type Feed, Feeds, HiddenChannelError } from "../src/model/feeds";
import type { ServerEvent } from "../src/model/events";
import type { Model } from "../src/model/model";
import { topicNarrow } from "../src/model/narrow";
import { Topics } from "../src/model/topics";
import { aMessage, aModel, FakeServer, SELF } from "./fakes";

const PLANS = topicNarrow(1, "plans");

let model: Model;
let server: FakeServer;
let feeds: Feeds;
let feed: Feed;
/** How many messages the server has, of ids from 1 on. */
let count: number;
let isDown = false;
/** What is called when a request may be answered; undefined: at once. */
let held: (() => void)[] | undefined;

function history(): object {
  const ids = Array.from({ length: count }, (_, index) => index + 1).slice(-50);
  return { messages: ids.map((id) => aMessage(id)), anchor: count, found_oldest: count <= 50, found_newest: true };
}

function happen(event: object): void {
  const events = [event] as ServerEvent[];
  model.applyAll(events);
  feeds.follow(events);
}

/** Let a message arrive by an event. */
function arrive(): void {
  count += 1;
  happen({ type: "message", message: aMessage(count), flags: [] });
}

/** Register anew: events between were missed. */
function registerAgain(): void {
  const previous = model.state;
  model.state = aModel({ max_message_id: count }).state;
  feeds.reset(previous);
}

const pass = (milliseconds = 0) => vi.advanceTimersByTimeAsync(milliseconds);
const newest = (length: number) => Array.from({ length }, (_, index) => count - length + 1 + index);

beforeEach(async () => {
  vi.useFakeTimers();
  [count, isDown, held] = [80, false, undefined];
  server = new FakeServer(async () => {
    const body = history();
    if (held) await new Promise<void>((resolve) => held!.push(resolve));
    return isDown ? "network error" : { body };
  });
  model = aModel();
  feeds = new Feeds(model);
  feed = feeds.open(PLANS);
  await pass();
  expect(feed.ids).toEqual(newest(50));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("what arrives after a gap is not added to what was fetched before it", async () => {
  isDown = true;
  count += 40;
  registerAgain();
  await pass();
  arrive();
  expect(feed.ids.at(-1)).toBe(80);
  isDown = false;
  feeds.retryFailed();
  await pass();
  expect(feed.ids).toEqual(newest(50));
  arrive();
  expect(feed.ids).toEqual(newest(51));
});

test("what was asked for beside register is shown, and followed from where the queue begins", async () => {
  const open = async (position: number) => {
    model = aModel({ max_message_id: 80, position: 7 });
    const answer = Promise.resolve({ ...history(), position } as never);
    const before = server.requests.length;
    feeds = new Feeds(model, { narrow: PLANS, answer });
    feed = feeds.open(PLANS);
    // The queue begins before the newest message: its event comes, too.
    happen({ type: "message", message: aMessage(80), flags: [] });
    await pass();
    arrive();
    expect(feed.ids).toEqual(newest(51));
    return server.requests.length - before;
  };
  expect(await open(7)).toBe(0);
  expect(await open(9)).toBe(0);
  // What was changed between both answers would be missing.
  expect(await open(6)).toBe(1);
});

test("what was asked for ahead is asked for again if that has failed, or something else is shown", async () => {
  const before = server.requests.length;
  const failing = Promise.reject(new Error("refused"));
  feed = new Feeds(model, { narrow: PLANS, answer: failing }).open(PLANS);
  await pass();
  expect(feed.ids).toEqual(newest(50));
  const answer = Promise.resolve({ ...history(), position: 99 } as never);
  feed = new Feeds(model, { narrow: topicNarrow(1, "parts"), answer }).open(PLANS);
  await pass();
  feed = new Feeds(model, { narrow: PLANS, answer }).open({ ...PLANS, near: 60 });
  await pass();
  expect(server.requests.length - before).toBe(3);
});

test("only what is read alike by all is asked for ahead", () => {
  expect(askAhead({ terms: [{ operator: "search", operand: "x" }] })).toBeUndefined();
  expect(askAhead({ terms: [{ operator: "channel", operand: 1, negated: true }] })).toBeUndefined();
  expect(askAhead(PLANS)).toBeDefined();
  expect(server.requests.at(-1)!.params.get("include_position")).toBe("true");
});

test("what is shown is fetched again by itself, and by a press of the button", async () => {
  for (const recover of [() => pass(6_000), () => feeds.retry(feed)]) {
    isDown = true;
    count += 200;
    registerAgain();
    await pass();
    expect(feed.error).toBeDefined();
    isDown = false;
    await recover();
    await pass();
    expect(feed.error).toBeUndefined();
    expect(feed.ids).toEqual(newest(50));
  }
});

test("an answer from before the gap does not replace one from after it", async () => {
  held = [];
  registerAgain();
  await pass();
  const [early] = held;
  held = undefined;
  count += 40;
  registerAgain();
  await pass();
  expect(feed.ids).toEqual(newest(50));
  early!();
  await pass();
  expect(feed.ids).toEqual(newest(50));
  expect(feed.isLoading).toBe(false);
});

test("messages of a channel that is hidden are forgotten, and fetched anew when it is seen again", async () => {
  const all = feeds.open({ terms: [] });
  await pass();
  const asked = server.requests.length;
  happen({ type: "stream", op: "delete", stream_ids: [1], streams: [{ stream_id: 1 }] });
  expect(model.state.messages.size).toBe(0);
  expect(all.ids).toEqual([]);
  const again = feeds.open(PLANS);
  expect(again).not.toBe(feed);
  feeds.retry(again);
  await pass();
  // The server would refuse it.
  expect(again.error).toBeInstanceOf(HiddenChannelError);
  expect(server.requests).toHaveLength(asked);
  happen({ type: "stream", op: "create", streams: [{ stream_id: 1, name: "general" }] });
  await pass();
  expect(again.error).toBeUndefined();
  expect(again.ids).toEqual(newest(50));
});

test("a private channel of which only the name is seen is not asked for, until it may be read", async () => {
  happen({ type: "stream", op: "create", streams: [{ stream_id: 2, name: "secrets", invite_only: true, history_public_to_subscribers: true, can_subscribe_group: 99, can_add_subscribers_group: 99 }] });
  const topics = new Topics(model);
  const asked = server.requests.length;
  const hidden = feeds.open(topicNarrow(2, "plans"));
  await pass();
  expect(hidden.error).toMatchObject({ isNamed: true });
  expect(topics.of(2)).toEqual([]);
  expect(server.requests).toHaveLength(asked);
  happen({ type: "stream", op: "update", stream_id: 2, name: "secrets", property: "can_subscribe_group", value: { direct_members: [SELF], direct_subgroups: [] } });
  await pass();
  expect(hidden.error).toBeUndefined();
  expect(server.requests.length).toBeGreaterThan(asked);
});

test("messages of a channel that is joined again are fetched anew: no event told of their changes", async () => {
  happen({ type: "subscription", op: "remove", subscriptions: [{ stream_id: 1, name: "engines" }] });
  expect(feed.ids).toEqual(newest(50));
  count += 2;
  happen({ type: "subscription", op: "add", subscriptions: [{ stream_id: 1, name: "engines" }] });
  await pass();
  expect(feeds.open(PLANS).ids).toEqual(newest(50));
  expect(feeds.open(PLANS).ids.every((id) => model.state.messages.has(id))).toBe(true);
});

test("messages that no feed has are kept up to a number, and those of feeds always", () => {
  const elsewhere = Array.from({ length: 7000 }, (_, index) => aMessage(1000 + index, { subject: "elsewhere" }));
  for (const message of elsewhere) happen({ type: "message", message, flags: [] });
  const { messages } = model.state;
  expect(messages.size).toBeLessThan(5200);
  expect(messages.has(elsewhere.at(-1)!.id)).toBe(true);
  expect(messages.has(elsewhere[0]!.id)).toBe(false);
  expect(feed.ids.every((id) => messages.has(id))).toBe(true);
});

test("what a search has marked is marked in its own results alone", async () => {
  server.answer = () => ({ body: { ...history(), messages: [{ ...aMessage(80), match_content: "<mark>found</mark>", match_subject: "plans" }] } });
  const found = feeds.open({ terms: [{ operator: "search", operand: "found" }] });
  await pass();
  const kept = model.state.messages.get(80)!;
  expect(found.matches.get(80)).toEqual({ content: kept.content, marked: "<mark>found</mark>" });
  expect(feed.matches.size).toBe(0);
  expect(kept).not.toHaveProperty("match_content");
});

test("resolving a topic moves no message", () => {
  const [id] = feed.ids as [number];
  const rename = (from: string, to: string) =>
    happen({ type: "update_message", message_id: id, message_ids: [id], stream_id: 1, orig_subject: from, subject: to, propagate_mode: "change_all", edit_timestamp: 5 });
  const moved = () => model.state.messages.get(id)!.last_moved_timestamp;
  rename("plans", "✔ plans");
  rename("✔ plans", "plans");
  expect(moved()).toBeUndefined();
  rename("plans", "✔ other plans");
  expect(moved()).toBe(5);
});
