import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiError } from "../src/protocol/client";
import { EventQueue, type Health, type QueueListener } from "../src/sync/events";
import { type Answer, type FakeRequest, FakeServer } from "./fakes";

const UNKNOWN = { status: 400, body: { code: "BAD_EVENT_QUEUE_ID", msg: "Bad event queue ID: queue-1" } };
const DOWN = { status: 503, body: { code: "SERVER_NOT_READY", msg: "Not ready." } };

type Answers = Answer | Promise<Answer>;

/** What a queue has reported, in its order. */
class Recorder implements QueueListener {
  readonly batches: { ids: unknown[]; last: number }[] = [];
  readonly health: Health["kind"][] = [];
  registrations = 0;
  onApply = (): void => {};
  onRegister = async (_signal: AbortSignal): Promise<void> => {};

  onEvents: QueueListener["onEvents"] = (events, last) => {
    this.onApply();
    this.batches.push({ ids: events.map((each) => each.id), last });
  };
  onExpired: QueueListener["onExpired"] = async (signal) => {
    this.registrations += 1;
    await this.onRegister(signal);
    return { queueId: `queue-${this.registrations + 1}`, lastEventId: 1000 * this.registrations };
  };
  onHealth: QueueListener["onHealth"] = ({ kind }) => void this.health.push(kind);
}

let recorder: Recorder;
let queue: EventQueue;
let run: Promise<void>;

/** Events that a queue with all of these ids answers to a poll; it waits where there are none. */
function stored(ids: number[]): (request: FakeRequest) => Answers {
  return ({ params }) => {
    const events = ids.filter((id) => id > Number(params.get("last_event_id"))).map((id) => ({ id, type: "presence" }));
    return events.length || params.get("dont_block") ? { body: { events } } : waits();
  };
}

const waits = (): Promise<never> => new Promise(() => {});

/** Answer each poll by the next of these, and then wait. */
function inTurn(...answers: ((request: FakeRequest) => Answers)[]): FakeServer {
  return new FakeServer((request) => (answers.shift() ?? waits)(request));
}

function begin(lastEventId = -1): void {
  recorder = new Recorder();
  queue = new EventQueue("queue-1", lastEventId, recorder);
  run = queue.run();
}

const pass = (milliseconds = 0) => vi.advanceTimersByTimeAsync(milliseconds);
const lastIds = ({ requests }: FakeServer) => requests.map(({ params }) => Number(params.get("last_event_id")));
const isRetry = ({ requests }: FakeServer) => requests.map(({ params }) => params.has("dont_block"));

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("reportError", vi.fn());
});

afterEach(async () => {
  queue.stop();
  await pass();
  await run;
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("polls", () => {
  test("acknowledge the last event of the batch before, across gaps of ids", async () => {
    const server = inTurn(stored([3, 7]), stored([3, 7, 20]));
    begin();
    await pass();
    expect(recorder.batches).toEqual([
      { ids: [3, 7], last: 7 },
      { ids: [20], last: 20 },
    ]);
    expect(lastIds(server)).toEqual([-1, 7, 20]);
    expect(isRetry(server)).toEqual([false, false, false]);
    expect(recorder.health).toEqual([]);
  });

  test("take the id of a heartbeat, and do not show it as an event", async () => {
    const server = inTurn(() => ({ body: { events: [{ id: 5, type: "heartbeat" }] } }));
    begin();
    await pass();
    expect(recorder.batches).toEqual([{ ids: [], last: 5 }]);
    expect(lastIds(server)).toEqual([-1, 5]);
  });

  test("are given up when nothing comes for longer than a server waits", async () => {
    const server = inTurn(waits, stored([1]));
    begin();
    await pass(99_000);
    expect(server.requests).toHaveLength(1);
    await pass(2_000);
    expect(recorder.health).toEqual(["reconnecting", "connected"]);
    expect(recorder.batches).toEqual([{ ids: [1], last: 1 }]);
  });

  test("end when the queue is stopped, and what comes afterwards is not applied", async () => {
    let answer = (_: { body: object }): void => {};
    const server = inTurn(() => new Promise((resolve) => (answer = resolve)));
    begin();
    await pass();
    queue.stop();
    answer({ body: { events: [{ id: 1, type: "presence" }] } });
    await pass(100_000);
    await run;
    expect(server.requests).toHaveLength(1);
    expect(recorder.batches).toEqual([]);
  });
});

describe("when the server cannot be reached", () => {
  test("polls go on from the same event, and find at once that it is back", async () => {
    const server = inTurn(stored([1]), () => "network error", () => DOWN, stored([1, 2]));
    begin();
    await pass(10_000);
    expect(recorder.batches.filter(({ ids }) => ids.length)).toEqual([
      { ids: [1], last: 1 },
      { ids: [2], last: 2 },
    ]);
    expect(lastIds(server)).toEqual([-1, 1, 1, 1, 2]);
    expect(isRetry(server)).toEqual([false, false, true, true, false]);
    expect(recorder.health).toEqual(["reconnecting", "reconnecting", "connected"]);
  });

  test("attempts become rarer, and are as rare only until one succeeds", async () => {
    let isDown = true;
    const server = new FakeServer((request) => (isDown ? "network error" : stored([])(request)));
    begin();
    const moments: number[] = [];
    const started = Date.now();
    for (let count = 0; moments.length < 12; ) {
      await pass(50);
      if (server.requests.length > count) moments.push(Date.now() - started);
      count = server.requests.length;
    }
    const waited = moments.slice(1).map((each, index) => each - moments[index]!);
    waited.forEach((each, index) => {
      const most = Math.min(500 * 2 ** index, 30_000);
      expect(each).toBeGreaterThanOrEqual(most / 2 - 50);
      expect(each).toBeLessThanOrEqual(most + 50);
    });
    isDown = false;
    await pass(31_000);
    isDown = true;
    queue.interrupt();
    const before = server.requests.length;
    await pass(550);
    expect(server.requests.length - before).toBeGreaterThanOrEqual(2);
  });

  test("it is waited as long as the server asks for", async () => {
    const server = inTurn(() => ({ status: 429, body: { code: "RATE_LIMIT_HIT", msg: "" }, headers: { "Retry-After": "20" } }));
    begin();
    await pass(19_900);
    expect(server.requests).toHaveLength(1);
    await pass(200);
    expect(server.requests).toHaveLength(2);
  });

  test("a wait is cut short when the page is shown again, or the network is back", async () => {
    const server = new FakeServer(() => "network error");
    begin();
    await pass(60_000);
    for (const wake of [() => queue.retryNow(), () => queue.interrupt()]) {
      const before = server.requests.length;
      wake();
      await pass();
      expect(server.requests).toHaveLength(before + 1);
    }
  });

  test("a response without JSON is one that has not come", async () => {
    const server = inTurn(stored([]), stored([4]));
    const fetched = fetch;
    let isPortal = true;
    vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) =>
      isPortal ? Promise.resolve(new Response("<p>Sign in to this network</p>")) : fetched(...args),
    );
    begin();
    await pass(3_000);
    expect(recorder.health.at(-1)).toBe("reconnecting");
    isPortal = false;
    await pass(30_000);
    expect(recorder.health.at(-1)).toBe("connected");
    expect(server.requests.length).toBeGreaterThan(0);
    expect(recorder.batches).toContainEqual({ ids: [4], last: 4 });
  });
});

describe("a poll that is interrupted", () => {
  test("is made anew at once, without a word", async () => {
    const server = inTurn(stored([6]), waits, stored([6, 8]));
    begin();
    await pass();
    queue.interrupt();
    await pass();
    expect(lastIds(server)).toEqual([-1, 6, 6, 8]);
    expect(isRetry(server)).toEqual([false, false, true, false]);
    expect(recorder.batches).toEqual([
      { ids: [6], last: 6 },
      { ids: [8], last: 8 },
    ]);
    expect(recorder.health).toEqual([]);
  });

  test("is interrupted by the clock when the machine has slept", async () => {
    const server = inTurn(waits, stored([]));
    begin();
    await pass(20_000);
    vi.setSystemTime(Date.now() + 3_600_000);
    await pass(10_000);
    expect(server.requests.length).toBeGreaterThanOrEqual(2);
    expect(isRetry(server)[1]).toBe(true);
  });

  test("whose answer has just come is applied once", async () => {
    const server = inTurn((request) => stored([1])(request), stored([1]));
    begin();
    queue.interrupt();
    await pass();
    expect(recorder.batches.filter(({ ids }) => ids.length)).toEqual([{ ids: [1], last: 1 }]);
    expect(server.requests.length).toBeGreaterThanOrEqual(2);
  });
});

describe("a queue that is gone", () => {
  test("is registered again, and polled from where the registration says", async () => {
    const server = inTurn(() => UNKNOWN, stored([1001]));
    begin(41);
    await pass();
    expect(recorder.registrations).toBe(1);
    expect(server.requests.map(({ params }) => params.get("queue_id"))).toEqual(["queue-1", "queue-2", "queue-2"]);
    expect(lastIds(server)).toEqual([41, 1000, 1001]);
    expect(recorder.batches).toEqual([{ ids: [1001], last: 1001 }]);
    expect(recorder.health).toEqual([]);
  });

  test("is registered as often as it takes, without polling it in vain", async () => {
    const server = inTurn(() => UNKNOWN);
    begin();
    let refusals = 2;
    recorder.onRegister = async () => {
      if (refusals-- > 0) throw new ApiError(503, "SERVER_NOT_READY", "Not ready.");
    };
    await pass(10_000);
    expect(recorder.registrations).toBe(3);
    expect(server.requests.map(({ params }) => params.get("queue_id"))).toEqual(["queue-1", "queue-4"]);
    expect(recorder.health).toEqual(["reconnecting", "reconnecting", "connected"]);
  });

  test("is made anew more and more rarely, if each new one is gone as well", async () => {
    new FakeServer(() => UNKNOWN);
    begin();
    await pass(10_000);
    expect(recorder.registrations).toBeGreaterThan(2);
    expect(recorder.registrations).toBeLessThan(10);
  });

  test("is registered anew when a registration hangs, or is interrupted", async () => {
    inTurn(() => UNKNOWN);
    begin();
    recorder.onRegister = (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    await pass(1_000);
    queue.interrupt();
    await pass();
    expect(recorder.registrations).toBe(2);
    expect(recorder.health).toEqual([]);
    await pass(60_000);
    expect(recorder.health).toEqual(["reconnecting"]);
    recorder.onRegister = async () => {};
    await pass(1_000);
    expect(recorder.health).toEqual(["reconnecting", "connected"]);
  });
});

describe("events that cannot be applied", () => {
  test("are not lost: the state is registered anew", async () => {
    const server = inTurn(stored([5]), stored([1002]));
    begin();
    const fault = new Error("a reducer has failed");
    recorder.onApply = () => {
      recorder.onApply = () => {};
      throw fault;
    };
    await pass(1_000);
    expect(reportError).toHaveBeenCalledWith(fault);
    expect(recorder.registrations).toBe(1);
    expect(server.requests.map(({ params }) => params.get("queue_id"))).toEqual(["queue-1", "queue-2", "queue-2"]);
    expect(recorder.batches).toEqual([{ ids: [1002], last: 1002 }]);
  });

  test("are not registered for without a pause, if that does not help", async () => {
    let id = 0;
    new FakeServer(() => ({ body: { events: [{ id: (id += 1_000_000), type: "presence" }] } }));
    begin();
    recorder.onApply = () => {
      throw new Error("a reducer always fails");
    };
    await pass(60_000);
    expect(recorder.registrations).toBeGreaterThan(2);
    expect(recorder.registrations).toBeLessThan(12);
  });
});

describe("an account that is signed out", () => {
  test.each([401, 403])("is not polled for any more (%i)", async (status) => {
    const server = inTurn(() => ({ status, body: { code: "UNAUTHORIZED", msg: "" } }));
    begin();
    await pass(120_000);
    await run;
    expect(server.requests).toHaveLength(1);
    expect(recorder.health).toEqual(["signed-out"]);
  });

  test("is noticed when it registers again", async () => {
    const server = inTurn(() => UNKNOWN);
    begin();
    recorder.onRegister = async () => {
      throw new ApiError(401, "UNAUTHORIZED", "Not logged in.");
    };
    await pass(120_000);
    await run;
    expect(server.requests).toHaveLength(1);
    expect(recorder.registrations).toBe(1);
    expect(recorder.health).toEqual(["signed-out"]);
  });
});
