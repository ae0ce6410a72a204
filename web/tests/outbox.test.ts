import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServerEvent } from "../src/model/events";
import { Feeds } from "../src/model/feeds";
import type { Model } from "../src/model/model";
import { directNarrow, topicNarrow } from "../src/model/narrow";
import { plainHtml } from "../src/model/outgoing";
import { Outbox } from "../src/sync/outbox";
import { aMessage, aModel, FakeServer, FakeStorage, SELF } from "./fakes";

const PLANS = { kind: "topic", channelId: 1, topic: "plans" } as const;
const BERT = { kind: "direct", userIds: [11] } as const;
const ACCEPTED = { body: { result: "success", msg: "", id: 101 } };
const DOWN = { status: 503, body: { code: "SERVER_NOT_READY", msg: "Not ready." } };

let storage: FakeStorage;
let model: Model;

function anOutbox(tab = "tab1"): Outbox {
  return new Outbox(model, new Feeds(model), tab, storage);
}

function direct(outbox: Outbox): string {
  return outbox.send({ to: { kind: "direct", userIds: [11] }, content: "hello" });
}

beforeEach(() => {
  vi.useFakeTimers();
  storage = new FakeStorage();
  model = aModel();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a message that is sent", () => {
  test("is shown before the server has answered", () => {
    new FakeServer(() => new Promise(() => {}));
    const outbox = anOutbox();
    outbox.send({ to: PLANS, content: "a < b\nand\n\nmore" });
    const [pending] = outbox.pending(topicNarrow(1, "Plans"));
    expect(pending!.echo).toMatchObject({
      sender_full_name: "Ada",
      stream_id: 1,
      content: "<p>a &lt; b<br>\nand</p>\n<p>more</p>",
    });
    expect(pending!.echo.id).toBeLessThan(0);
    expect(outbox.pending(topicNarrow(1, "other"))).toEqual([]);
    expect(outbox.pending(directNarrow([11]))).toEqual([]);
  });

  test("is stored once, with the time of its attempt, before the request leaves", () => {
    const stored: string[] = [];
    const server = new FakeServer(() => {
      stored.push(...storage.items.values());
      return new Promise(() => {});
    });
    const set = vi.spyOn(storage, "setItem");
    const outbox = anOutbox();
    outbox.send({ to: PLANS, content: "one" });
    expect(server.requests).toHaveLength(1);
    expect(stored.map((each) => JSON.parse(each))).toMatchObject([{ content: "one", firstTriedAt: Date.now() }]);
    expect(set).toHaveBeenCalledTimes(1);
    // One that waits for another is stored without an attempt.
    outbox.send({ to: PLANS, content: "two" });
    expect(server.requests).toHaveLength(1);
    const kept = [...storage.items.values()].map((each) => JSON.parse(each));
    expect(kept.find(({ content }) => content === "two")).not.toHaveProperty("firstTriedAt");
  });

  test("gives way to its event, whether that comes before the response or after", async () => {
    const server = new FakeServer(() => ACCEPTED);
    const outbox = anOutbox();
    const first = outbox.send({ to: PLANS, content: "one" });
    await vi.advanceTimersByTimeAsync(0);
    expect(outbox.all()).toMatchObject([{ status: "sent", messageId: 101 }]);
    const event: ServerEvent = { type: "message", id: 1, message: aMessage(101), flags: [], local_message_id: first };
    model.apply(event);
    outbox.settle([event]);
    expect(outbox.all()).toEqual([]);
    expect(outbox.localIdOf(101)).toBe(first);

    server.answer = () => new Promise((resolve) => setTimeout(() => resolve({ body: { id: 102 } }), 50));
    const second = outbox.send({ to: PLANS, content: "two" });
    const early: ServerEvent = { type: "message", id: 2, message: aMessage(102), flags: [], local_message_id: second };
    model.apply(early);
    outbox.settle([early]);
    expect(outbox.all()).toEqual([]);
    await vi.advanceTimersByTimeAsync(100);
    expect(outbox.all()).toEqual([]);
    expect(storage.length).toBe(0);
  });

  test("is not shown twice when the state was loaded again and holds it", async () => {
    new FakeServer(() => ACCEPTED);
    const outbox = anOutbox();
    direct(outbox);
    await vi.advanceTimersByTimeAsync(0);
    model.state = aModel({ max_message_id: 105, queue_id: "queue-2" }).state;
    outbox.settle();
    expect(outbox.all()).toEqual([]);
  });

  test("is fetched where no event comes, as senders who are not subscribed get none", async () => {
    model = aModel({ subscriptions: [], never_subscribed: [{ stream_id: 1, name: "general" }] });
    const server = new FakeServer(({ method }) => (method === "GET" ? { body: { messages: [aMessage(101)] } } : ACCEPTED));
    const outbox = anOutbox();
    outbox.send({ to: PLANS, content: "one" });
    await vi.advanceTimersByTimeAsync(10);
    expect(server.requests.map((each) => each.method)).toEqual(["POST", "GET"]);
    expect(outbox.all()).toEqual([]);
    expect(model.state.messages.has(101)).toBe(true);
  });
});

describe("attempts", () => {
  test("repeat the request and its key exactly until the server answers", async () => {
    let attempts = 0;
    const server = new FakeServer(() => {
      attempts += 1;
      return attempts === 1 ? "network error" : attempts === 2 ? DOWN : ACCEPTED;
    });
    const outbox = anOutbox();
    direct(outbox);
    await vi.advanceTimersByTimeAsync(1);
    expect(outbox.all()[0]).toMatchObject({ status: "waiting", error: "The server cannot be reached." });
    model.state = aModel({ queue_id: "queue-2" }).state;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(outbox.all()[0]).toMatchObject({ status: "sent" });
    const [one, two, three] = server.requests.map(({ params, headers }) => [String(params), headers.get("Idempotency-Key")]);
    expect(two).toEqual(one);
    expect(three).toEqual(one);
    expect(server.requests[0]!.params.get("queue_id")).toBe("queue-1");
    expect(server.requests[0]!.params.get("local_id")).toMatch(/^tab1\./);
  });

  test("wait as long as the server asks", async () => {
    let isBusy = true;
    const server = new FakeServer(() =>
      isBusy ? { status: 429, body: { code: "RATE_LIMIT_HIT", msg: "Slow down." }, headers: { "Retry-After": "20" } } : ACCEPTED,
    );
    direct(anOutbox());
    await vi.advanceTimersByTimeAsync(1);
    isBusy = false;
    await vi.advanceTimersByTimeAsync(19_000);
    expect(server.requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(server.requests).toHaveLength(2);
  });

  test("of one conversation are in order, and others do not wait for them", async () => {
    let isDown = true;
    let newest = 100;
    const server = new FakeServer(({ params }) => {
      if (isDown && params.get("topic")) return "network error";
      return { body: { id: ++newest } };
    });
    const outbox = anOutbox();
    outbox.send({ to: PLANS, content: "one" });
    outbox.send({ to: { ...PLANS, topic: "PLANS" }, content: "two" });
    outbox.send({ to: { kind: "direct", userIds: [...BERT.userIds] }, content: "three" });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(outbox.all().map((each) => each.status)).toEqual(["waiting", "sending", "sent"]);
    isDown = false;
    server.requests.length = 0;
    outbox.retryNow();
    await vi.advanceTimersByTimeAsync(1);
    expect(server.requests.map(({ params }) => params.get("content"))).toEqual(["one", "two"]);
  });

  test("end with a refusal, which is shown and does not hold up the next message", async () => {
    new FakeServer(({ params }) =>
      params.get("content") === "one" ? { status: 400, body: { code: "BAD_REQUEST", msg: "You may not post here." } } : ACCEPTED,
    );
    const outbox = anOutbox();
    const refused = outbox.send({ to: PLANS, content: "one" });
    outbox.send({ to: PLANS, content: "two" });
    await vi.advanceTimersByTimeAsync(1);
    expect(outbox.all()).toMatchObject([
      { localId: refused, status: "failed", error: "You may not post here." },
      { status: "sent" },
    ]);
    expect(outbox.discard(refused)).toMatchObject({ content: "one" });
    expect(outbox.all()).toHaveLength(1);
  });

  test("end after some answers that say that the server has a fault", async () => {
    const server = new FakeServer(() => ({ status: 500, body: { code: "INTERNAL_SERVER_ERROR", msg: "Internal error." } }));
    const outbox = anOutbox();
    const localId = direct(outbox);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.requests).toHaveLength(4);
    expect(outbox.all()).toMatchObject([{ status: "failed", error: "Internal error." }]);
    server.answer = () => ACCEPTED;
    outbox.retry(localId);
    await vi.advanceTimersByTimeAsync(1);
    expect(outbox.all()).toMatchObject([{ status: "sent" }]);
    expect(new Set(server.requests.map(({ headers }) => headers.get("Idempotency-Key"))).size).toBe(1);
  });

  test("end after an hour, until asked to try again", async () => {
    const server = new FakeServer(() => "network error");
    const outbox = anOutbox();
    const localId = direct(outbox);
    await vi.advanceTimersByTimeAsync(65 * 60_000);
    expect(outbox.all()).toMatchObject([{ status: "failed" }]);
    server.requests.length = 0;
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(server.requests).toHaveLength(0);
    outbox.retry(localId);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(outbox.all()).toMatchObject([{ status: "waiting" }]);
  });
});

describe("over a reload", () => {
  test("a send under way goes on as the same message", async () => {
    const server = new FakeServer(() => new Promise(() => {}));
    direct(anOutbox());
    await vi.advanceTimersByTimeAsync(1);
    server.answer = () => ACCEPTED;
    const outbox = anOutbox();
    expect(outbox.all()).toMatchObject([{ status: "sending", content: "hello" }]);
    await vi.advanceTimersByTimeAsync(1);
    const [one, two] = server.requests.map(({ params, headers }) => [String(params), headers.get("Idempotency-Key")]);
    expect(two).toEqual(one);
    expect(anOutbox().all()).toEqual([]);
  });

  test("what has failed is kept, for its account and tab alone", async () => {
    new FakeServer(() => ({ status: 400, body: { code: "BAD_REQUEST", msg: "No." } }));
    direct(anOutbox());
    await vi.advanceTimersByTimeAsync(1);
    expect(anOutbox().all()).toMatchObject([{ status: "failed", error: "No." }]);
    const other = anOutbox("tab2");
    expect(other.all()).toEqual([]);
    other.adopt(() => true);
    expect(other.all()).toMatchObject([{ status: "failed" }]);
    model = aModel({ user_id: SELF + 1 });
    expect(anOutbox().all()).toEqual([]);
  });

  test("what was tried too long ago is not sent again by itself", async () => {
    const server = new FakeServer(() => new Promise(() => {}));
    direct(anOutbox());
    await vi.advanceTimersByTimeAsync(1);
    vi.setSystemTime(Date.now() + 21 * 60 * 60_000);
    const outbox = anOutbox();
    await vi.advanceTimersByTimeAsync(1);
    expect(outbox.all()).toMatchObject([{ status: "failed", error: "It is not known whether this message was sent." }]);
    expect(server.requests).toHaveLength(1);
    server.answer = () => ACCEPTED;
    outbox.retry(outbox.all()[0]!.localId);
    await vi.advanceTimersByTimeAsync(1);
    expect(outbox.all()).toMatchObject([{ status: "sent" }]);
  });

  test("two tabs that take a message over at the same time send it, and one of them shows it", async () => {
    const listeners: ((event: unknown) => void)[] = [];
    vi.stubGlobal("addEventListener", (type: string, listener: (event: unknown) => void) => {
      if (type === "storage") listeners.push(listener);
    });
    new FakeServer(() => DOWN);
    const gone = anOutbox("gone");
    direct(gone);
    await vi.advanceTimersByTimeAsync(1);
    const tabs = [anOutbox("tab1"), anOutbox("tab2")];
    const [key, before] = [...storage.items][0]!;
    tabs[0]!.adopt(() => true);
    const first = storage.getItem(key);
    storage.setItem(key, before);
    tabs[1]!.adopt(() => true);
    // Each hears of what the other has written, when the later write already holds.
    for (const [index, newValue] of [storage.getItem(key), first].entries()) listeners[index + 1]!({ key, newValue });
    expect(tabs.map((each) => each.all().length)).toEqual([0, 1]);
  });

  test("what another tab has written before goes first", async () => {
    const listeners: ((event: unknown) => void)[] = [];
    vi.stubGlobal("addEventListener", (type: string, listener: (event: unknown) => void) => {
      if (type === "storage") listeners.push(listener);
    });
    const server = new FakeServer(() => new Promise(() => {}));
    const one = anOutbox("tab1");
    direct(one);
    await vi.advanceTimersByTimeAsync(1);
    const other = anOutbox("tab2");
    other.send({ to: PLANS, content: "elsewhere" });
    const second = direct(other);
    await vi.advanceTimersByTimeAsync(1);
    expect(server.requests).toHaveLength(2);
    server.answer = () => ACCEPTED;
    one.discard(one.all()[0]!.localId);
    for (const listener of listeners) listener({ key: `parley.outbox.${SELF}.x` });
    await vi.advanceTimersByTimeAsync(1);
    expect(server.requests).toHaveLength(3);
    expect(other.all().find((each) => each.localId === second)).toMatchObject({ status: "sent" });
  });

  test("but not for ever: its tab may have crashed", async () => {
    const server = new FakeServer(() => new Promise(() => {}));
    direct(anOutbox("tab1"));
    await vi.advanceTimersByTimeAsync(1);
    direct(anOutbox("tab2"));
    await vi.advanceTimersByTimeAsync(9_000);
    expect(server.requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(server.requests).toHaveLength(2);
  });

  test("storage that is full or damaged loses nothing of this page", async () => {
    storage.isFull = true;
    new FakeServer(() => ACCEPTED);
    const outbox = anOutbox();
    direct(outbox);
    await vi.advanceTimersByTimeAsync(1);
    expect(outbox.all()).toMatchObject([{ status: "sent" }]);
    storage.isFull = false;
    storage.setItem(`parley.outbox.${SELF}.x`, "{");
    expect(anOutbox().all()).toEqual([]);
  });
});

test("plain text is escaped, and blank lines make paragraphs", () => {
  expect(plainHtml(`<img src=x onerror="a('b')"> & c\n  \n\n\nd`)).toBe(
    "<p>&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt; &amp; c</p>\n<p>d</p>",
  );
});
