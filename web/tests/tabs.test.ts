import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Model } from "../src/model/model";
import { snapshotOf, stateOfSnapshot } from "../src/model/snapshot";
import type { Health } from "../src/sync/events";
import type { Leadership } from "../src/sync/leadership";
import { type Batch, type Channel, Tabs, type TabsHost } from "../src/sync/tabs";
import { aMessage, aModel } from "./fakes";

/** What tabs of one browser share: messages between them, and who is the leader. */
class FakeBrowser {
  readonly listeners = new Map<string, (event: { data: unknown }) => void>();
  leader: string | undefined;
  readonly lost = new Map<string, () => void>();
  readonly waiting = new Map<string, () => void>();

  channel(tab: string): Channel {
    return {
      postMessage: (data) => {
        const sent = structuredClone(data);
        for (const [other, listener] of this.listeners) {
          if (other !== tab) setTimeout(() => this.listeners.get(other) === listener && listener({ data: sent }));
        }
      },
      addEventListener: (_, listener) => this.listeners.set(tab, listener),
    };
  }

  leadership(tab: string): Leadership {
    return {
      claim: async ({ force = false } = {}) => {
        if (this.leader !== undefined && !force) return false;
        const before = this.leader;
        this.leader = tab;
        if (before !== undefined) this.lost.get(before)?.();
        return true;
      },
      onVacant: (then) => this.waiting.set(tab, then),
      onLost: (then) => this.lost.set(tab, then),
    };
  }

  /** Close a tab. The browser frees its lock, unless it only hangs. */
  close(tab: string, { hangs = false } = {}): void {
    this.listeners.delete(tab);
    this.waiting.delete(tab);
    if (hangs || this.leader !== tab) return;
    const [next, then] = [...this.waiting][0] ?? [];
    this.leader = next;
    then?.();
  }
}

/** A tab with its model, which polls when it leads. */
class FakeTab implements TabsHost {
  readonly tabs: Tabs;
  model: Model | undefined;
  isPolling = false;
  snapshots = 0;
  activities = 0;
  roll: ReadonlySet<string> | undefined;
  lastHealth: Health = { kind: "connected" };

  constructor(
    readonly name: string,
    browser: FakeBrowser,
    session = "session",
  ) {
    this.tabs = new Tabs(name, session, browser.channel(name), browser.leadership(name), this);
  }

  async open(): Promise<this> {
    const joining = this.tabs.join();
    await vi.advanceTimersByTimeAsync(2_000);
    const snapshot = await joining;
    this.model = aModel();
    if (snapshot) this.model.state = stateOfSnapshot(snapshot);
    this.tabs.start();
    await vi.advanceTimersByTimeAsync(1);
    return this;
  }

  /** As the leader: take a batch of the server. */
  poll(events: { id: number; [field: string]: unknown }[], { isHeard = true } = {}): void {
    const { queueId, lastEventId: after } = this.model!.state;
    const batch = { events: events as never, queueId, after, last: events.at(-1)!.id };
    if (isHeard) this.tabs.broadcast(batch);
    this.onBatch(batch);
  }

  get words(): string[] {
    return this.model!.state.alertWords;
  }

  position = () => ({ queueId: this.model!.state.queueId, last: this.model!.state.lastEventId });
  snapshot = () => snapshotOf(this.model!.state);
  health = () => this.lastHealth;
  onBatch = ({ events, last }: Batch) => {
    this.model!.applyAll(events);
    this.model!.state.lastEventId = last;
  };
  onLocal = this.applyLocal.bind(this);
  onSnapshot = (snapshot: Parameters<TabsHost["onSnapshot"]>[0]) => {
    this.snapshots += 1;
    this.model!.state = stateOfSnapshot(snapshot);
  };
  onHealth = (health: Health) => {
    this.lastHealth = health;
  };
  onLead = () => {
    this.isPolling = true;
  };
  onFollow = () => {
    this.isPolling = false;
  };
  onActive = () => {
    this.activities += 1;
  };
  onRoll = (roll: ReadonlySet<string>) => {
    this.roll = new Set(roll);
  };
  private applyLocal(events: never): void {
    this.model!.applyAll(events);
  }
}

const words = (id: number, ...alert_words: string[]) => ({ id, type: "alert_words", alert_words });
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

let browser: FakeBrowser;

beforeEach(() => {
  vi.useFakeTimers();
  browser = new FakeBrowser();
});

afterEach(() => {
  vi.useRealTimers();
});

async function twoTabs(): Promise<[FakeTab, FakeTab]> {
  const leader = await new FakeTab("one", browser).open();
  return [leader, await new FakeTab("two", browser).open()];
}

describe("a new tab", () => {
  test("takes the state of the leader, and only the leader polls", async () => {
    const leader = await new FakeTab("one", browser).open();
    leader.poll([words(5, "soup"), { id: 9, type: "message", message: aMessage(101), flags: ["mentioned"] }]);
    const other = await new FakeTab("two", browser).open();
    expect(other.words).toEqual(["soup"]);
    expect(other.position()).toEqual({ queueId: "queue-1", last: 9 });
    expect([...other.model!.state.unread.inTopic(1, "PLANS")]).toEqual([101]);
    expect(other.model!.state.unread.mentions).toEqual(new Set([101]));
    expect([leader.isPolling, other.isPolling]).toEqual([true, false]);
  });

  test("waits for a leader that is about to register", async () => {
    const first = new FakeTab("one", browser);
    await first.tabs.join();
    const second = new FakeTab("two", browser);
    const joining = second.tabs.join();
    await pass(10_000);
    first.model = aModel();
    first.tabs.start();
    await pass(10);
    expect((await joining)?.queueId).toBe("queue-1");
    expect(second.isPolling).toBe(false);
  });

  test("takes the place of a leader that does not answer", async () => {
    await new FakeTab("one", browser).open();
    browser.close("one", { hangs: true });
    const other = await new FakeTab("two", browser).open();
    expect(other.isPolling).toBe(true);
    expect(browser.leader).toBe("two");
  });

  test("of another sign-in takes nothing from the leader", async () => {
    const leader = await new FakeTab("one", browser).open();
    leader.poll([words(5, "secret")]);
    const other = await new FakeTab("two", browser, "another session").open();
    expect(other.words).toEqual([]);
    expect(other.isPolling).toBe(true);
    expect(leader.isPolling).toBe(false);
  });
});

describe("batches", () => {
  test("are applied by every tab, once, though ids have gaps", async () => {
    const [leader, other] = await twoTabs();
    leader.poll([words(3, "a")]);
    leader.poll([words(1000, "a", "b")]);
    await pass(10);
    expect(other.words).toEqual(["a", "b"]);
    expect(other.snapshots).toBe(0);
  });

  test("that are missed are noticed by the next one, and the state is taken anew", async () => {
    const [leader, other] = await twoTabs();
    leader.poll([words(3, "a")], { isHeard: false });
    leader.poll([{ id: 7, type: "heartbeat" }]);
    await pass(10);
    expect(other.words).toEqual(["a"]);
    expect(other.snapshots).toBe(1);
    expect(other.position().last).toBe(7);
  });

  test("that are missed are noticed without another one, by asking the leader", async () => {
    const [leader, other] = await twoTabs();
    leader.poll([words(3, "a")], { isHeard: false });
    await pass(31_000);
    expect(other.words).toEqual(["a"]);
  });

  test("of an older queue are not mixed into a new state", async () => {
    const [leader, other] = await twoTabs();
    leader.model!.state = aModel({ queue_id: "queue-2", alert_words: ["new"] }).state;
    leader.tabs.broadcastState();
    await pass(10);
    expect(other.words).toEqual(["new"]);
    expect(other.position()).toEqual({ queueId: "queue-2", last: -1 });
  });
});

describe("a leader", () => {
  test("that is closed is followed by another tab, at the same place of the queue", async () => {
    const [leader, other] = await twoTabs();
    leader.poll([words(3, "a")]);
    await pass(10);
    browser.close("one");
    expect(other.isPolling).toBe(true);
    expect(other.position()).toEqual({ queueId: "queue-1", last: 3 });
  });

  test("that is silent loses its place, and follows when it is back", async () => {
    const [leader, other] = await twoTabs();
    const listener = browser.listeners.get("one")!;
    browser.close("one", { hangs: true });
    await pass(40_000);
    expect([leader.isPolling, other.isPolling]).toEqual([false, true]);
    browser.listeners.set("one", listener);
    other.poll([words(4, "later")]);
    await pass(10);
    expect(leader.words).toEqual(["later"]);
  });

  test("that answers keeps its place", async () => {
    const [leader, other] = await twoTabs();
    await pass(10 * 60_000);
    expect([leader.isPolling, other.isPolling]).toEqual([true, false]);
  });

  test("hears that one is active in another tab, and which tabs are left", async () => {
    const [leader, other] = await twoTabs();
    other.tabs.reportActive();
    await pass(10);
    expect(leader.activities).toBe(1);
    await pass(3_000);
    expect(leader.roll).toEqual(new Set(["one", "two"]));
    other.tabs.leave();
    browser.close("two");
    await pass(4_000);
    expect(leader.roll).toEqual(new Set(["one"]));
  });
});

test("a browser without means to agree lets each tab poll for itself", async () => {
  const host = new FakeTab("one", browser);
  const alone = new Tabs("three", "session", undefined, undefined, host);
  expect(await alone.join()).toBeUndefined();
  expect(alone.isLeader).toBe(true);
});
