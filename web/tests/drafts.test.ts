import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Draft, State } from "../src/model/state";
import type { LocalDraft } from "../src/views/compose/drafts";
import { aModel, type FakeRequest, FakeServer, FakeStorage } from "./fakes";

const PLANS = { kind: "topic", channelId: 1, topic: "plans" } as const;

let state: State;
let storage: FakeStorage;
let server: DraftServer;
let drafts: typeof import("../src/views/compose/drafts");
let onStorage: (event: { key: string; newValue: string | null }) => void;

vi.mock("../src/app", () => ({ state: () => state }));

/** A server that keeps drafts; what `lose` names is done, or not done, and not answered. */
class DraftServer {
  readonly drafts = new Map<number, Draft>();
  readonly fake = new FakeServer((request) => this.#answer(request));
  lose: { method: string; isDone: boolean } | undefined;
  #last = 0;

  #answer(request: FakeRequest): { body: object; status?: number } | "network error" {
    const isLost = this.lose?.method === request.method;
    if (isLost && !this.lose!.isDone) return "network error";
    const answer = this.#act(request);
    return isLost ? "network error" : answer;
  }

  #act({ method, path, params }: FakeRequest): { body: object; status?: number } {
    const id = Number(path.split("/").at(-1));
    if (method === "GET") return { body: { drafts: [...this.drafts.values()] } };
    if (method === "POST") {
      const [made] = JSON.parse(params.get("drafts")!) as Draft[];
      this.drafts.set((this.#last += 1), { ...made!, id: this.#last });
      return { body: { ids: [this.#last] } };
    }
    if (!this.drafts.has(id)) return { status: 404, body: { code: "BAD_REQUEST", msg: "Draft does not exist" } };
    if (method === "DELETE") this.drafts.delete(id);
    else this.drafts.set(id, { ...(JSON.parse(params.get("draft")!) as Draft), id });
    return { body: {} };
  }

  /** Keep a draft that another tab has made, and return its id. */
  keep(content: string): number {
    this.drafts.set((this.#last += 1), { id: this.#last, type: "stream", to: [1], topic: "plans", content, timestamp: 0 });
    return this.#last;
  }

  get texts(): string[] {
    return [...this.drafts.values()].map((each) => each.content);
  }
}

/** Load the page, or load it again: what it kept in memory is gone. */
async function load(): Promise<void> {
  vi.clearAllTimers();
  vi.resetModules();
  state = aModel({ user_settings: { enable_drafts_synchronization: true }, drafts: [...server.drafts.values()] }).state;
  drafts = await import("../src/views/compose/drafts");
  drafts.allDrafts();
}

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);
const shown = () => drafts.draftFor(PLANS)?.content;

function stored(): LocalDraft {
  return JSON.parse([...storage.items.values()][0]!) as LocalDraft;
}

/** Store a draft as another tab does. */
function storeElsewhere(draft: LocalDraft): void {
  const [key] = storage.items.keys();
  storage.setItem(key!, JSON.stringify(draft));
  onStorage({ key: key!, newValue: JSON.stringify(draft) });
}

beforeEach(async () => {
  vi.useFakeTimers();
  storage = new FakeStorage();
  // The names of what is stored are its keys, as in a browser.
  const keyed = new Proxy(storage, {
    ownKeys: () => [...storage.items.keys()],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    get: (target, name) => (target[name as keyof FakeStorage] as () => void).bind(target),
  });
  vi.stubGlobal("localStorage", keyed);
  vi.stubGlobal("navigator", {});
  vi.stubGlobal("addEventListener", (_type: "storage", listener: typeof onStorage) => (onStorage = listener));
  server = new DraftServer();
  await load();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a draft that is sent", () => {
  test("is deleted on the server", async () => {
    drafts.save("a", PLANS, "Good mor");
    await pass(3_000);
    expect(server.texts).toEqual(["Good mor"]);
    drafts.discard("a");
    expect(shown()).toBeUndefined();
    await pass(0);
    expect(server.texts).toEqual([]);
    expect(storage.length).toBe(0);
  });

  test.each([true, false])("is deleted although nothing was answered when it was made (made: %s)", async (isDone) => {
    drafts.save("a", PLANS, "Good mor");
    server.lose = { method: "POST", isDone };
    await pass(3_000);
    drafts.discard("a");
    server.lose = undefined;
    await pass(20_000);
    expect(server.texts).toEqual([]);
    expect(storage.length).toBe(0);
    await load();
    expect(shown()).toBeUndefined();
  });

  test("is deleted although the page was left before it was known to be made", async () => {
    drafts.save("a", PLANS, "Good mor");
    server.lose = { method: "POST", isDone: true };
    await pass(3_000);
    drafts.discard("a");
    await load();
    server.lose = undefined;
    expect(server.texts).toEqual(["Good mor"]);
    expect(shown()).toBeUndefined();
    await pass(3_000);
    expect(server.texts).toEqual([]);
  });

  test("is not shown again while it cannot be deleted, not even by a page that is loaded again", async () => {
    drafts.save("a", PLANS, "Good mor");
    await pass(3_000);
    server.lose = { method: "DELETE", isDone: false };
    drafts.discard("a");
    await pass(40_000);
    await load();
    await pass(40_000);
    expect(server.texts).toEqual(["Good mor"]);
    expect(shown()).toBeUndefined();
    server.lose = undefined;
    await pass(20_000);
    expect(server.texts).toEqual([]);
    expect(storage.length).toBe(0);
  });
});

describe("a draft that is written on", () => {
  test("is made once, although nothing was answered when it was made", async () => {
    drafts.save("a", PLANS, "Good mor");
    server.lose = { method: "POST", isDone: true };
    await pass(3_000);
    server.lose = undefined;
    drafts.save("a", PLANS, "Good morning");
    await pass(20_000);
    expect(server.texts).toEqual(["Good morning"]);
    state.drafts = new Map(server.drafts);
    expect(drafts.allDrafts().map(({ content }) => content)).toEqual(["Good morning"]);
  });

  test("is shown once while it is not known whether the server has it", async () => {
    drafts.save("a", PLANS, "Good mor");
    server.lose = { method: "POST", isDone: true };
    await pass(3_000);
    await load();
    expect(drafts.allDrafts().map(({ content }) => content)).toEqual(["Good mor"]);
  });
});

describe("a draft of two tabs", () => {
  test("is what was written last, also after the other tab has stored what it was before", async () => {
    const listener = vi.fn();
    drafts.onOtherTab(listener);
    drafts.save("a", PLANS, "Good mor");
    const before = stored();
    await pass(1_000);
    drafts.save("a", PLANS, "Good morning");
    storeElsewhere({ ...before, serverId: server.keep("Good mor"), isChanged: false });
    expect(shown()).toBe("Good morning");
    expect(listener).not.toHaveBeenCalled();
    await pass(3_000);
    expect(server.texts).toEqual(["Good morning"]);
    expect(stored()).toMatchObject({ content: "Good morning", isChanged: false });
  });

  test("follows the tab that writes on", async () => {
    const listener = vi.fn();
    drafts.onOtherTab(listener);
    drafts.save("a", PLANS, "Good mor");
    const after = { ...stored(), content: "Good morning", editedAt: stored().editedAt + 1 };
    storeElsewhere(after);
    expect(listener).toHaveBeenCalledExactlyOnceWith("a", after);
    expect(shown()).toBe("Good morning");
    // The tab that wrote it tells the server.
    await pass(60_000);
    expect(server.texts).toEqual([]);
  });

  test("is told to the server by one of them", async () => {
    let release = () => {};
    const request = async (_name: string, work: () => Promise<void>) => {
      await new Promise<void>((resolve) => (release = resolve));
      await work();
    };
    vi.stubGlobal("navigator", { locks: { request } });
    drafts.save("a", PLANS, "Good mor");
    await pass(3_000);
    storage.setItem([...storage.items.keys()][0]!, JSON.stringify({ ...stored(), serverId: server.keep("Good mor"), isChanged: false }));
    release();
    await pass(60_000);
    expect(server.texts).toEqual(["Good mor"]);
  });

  test("is gone from both when one has sent it", async () => {
    const listener = vi.fn();
    drafts.onOtherTab(listener);
    drafts.save("a", PLANS, "Good mor");
    storeElsewhere({ ...stored(), editedAt: stored().editedAt + 1, isDeleted: true });
    expect(listener).toHaveBeenCalledExactlyOnceWith("a", undefined);
    expect(shown()).toBeUndefined();
  });
});
