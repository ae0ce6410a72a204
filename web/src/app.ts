/** What the page holds: model, feeds and event queue, tied together. */

import { signal } from "@preact/signals";
import { type Ahead, askAhead, Feeds } from "./model/feeds";
import { Model } from "./model/model";
import type { Narrow } from "./model/narrow";
import type { ServerEvent } from "./model/events";
import { settleConversation, settleMentions } from "./model/reducers/messages";
import { snapshotOf, stateOfSnapshot } from "./model/snapshot";
import { idsOfKey, type Message, type State, stateOf } from "./model/state";
import { Topics } from "./model/topics";
import { ApiError, csrfToken, get, NetworkError } from "./protocol/client";
import { EventQueue, type Health, register } from "./sync/events";
import { leadershipOf } from "./sync/leadership";
import { Outbox } from "./sync/outbox";
import { PresencePings } from "./sync/presence";
import { claimTabId, storageOf } from "./sync/tab-id";
import { type Batch, Tabs, type TabsHost } from "./sync/tabs";
import { announce, announceAll } from "./ui/watch";

export const health = signal<Health>({ kind: "connected" });

let model: Model;
export let feeds: Feeds;
export let topics: Topics;
/** Messages on their way to the server. Read it in a component after `watch("outbox")`. */
export let outbox: Outbox;
const TAB = claimTabId();
let tabs: Tabs;
let queue: EventQueue | undefined;
let presence: PresencePings | undefined;

/** The state. Read it in a component after `watch`. */
export function state(): State {
  return model.state;
}

export function theModel(): Model {
  return model;
}

/** Return whether this tab polls for all tabs of the browser: what is to be done once is done by it. */
export function isLeader(): boolean {
  return tabs.isLeader;
}

type BatchListener = (events: readonly ServerEvent[]) => void;
const batchListeners = new Set<BatchListener>();

/** Call a function after each batch of events was applied. Returns a function that ends this. */
export function onBatch(listener: BatchListener): () => void {
  batchListeners.add(listener);
  return () => batchListeners.delete(listener);
}

function applyEvents(events: readonly ServerEvent[]): void {
  for (const event of events) model.apply(event);
  feeds.follow(events);
  topics.update(events);
  outbox.settle(events);
  model.changes.flush();
  for (const listener of batchListeners) listener(events);
  settleDoubts(model.state);
}

function receive({ events, last }: Batch): void {
  applyEvents(events);
  model.state.lastEventId = Math.max(model.state.lastEventId, last);
}

/** How many unread mentions of a channel are looked at: as many as one answer has. */
const MAX_MENTIONS = 1000;

type WireTerm = { operator: string; operand: string | number | number[] };

const asked = new Set<string | number>();

/** Ask for messages, and settle a doubt by them. A doubt that is asked about already is not again. */
async function settle(doubt: string | number, narrow: WireTerm[], count: number, apply: (messages: Message[]) => void): Promise<void> {
  if (asked.has(doubt)) return;
  asked.add(doubt);
  try {
    const { messages } = await get<{ messages: Message[] }>("/messages", {
      narrow,
      anchor: "newest",
      num_before: count,
      num_after: 0,
      client_gravatar: false,
    });
    apply(messages);
    model.changes.flush();
  } catch (error) {
    // It is asked for again after the next events.
    if (!(error instanceof ApiError || error instanceof NetworkError)) throw error;
  } finally {
    asked.delete(doubt);
  }
}

/** Find out what the client cannot tell of messages that it does not hold. */
function settleDoubts({ doubtful, doubtfulMentions }: State): void {
  for (const key of doubtful) {
    // Which message is the newest of a conversation now that one was deleted.
    void settle(key, [{ operator: "dm", operand: idsOfKey(key) }], 1, (messages) =>
      settleConversation(model.state, key, messages.at(-1)?.id, model.changes),
    );
  }
  for (const channelId of doubtfulMentions) {
    // Which messages mention the user now that something was muted, or is no longer.
    const narrow: WireTerm[] = [
      { operator: "channel", operand: channelId },
      { operator: "is", operand: "mentioned" },
      { operator: "is", operand: "unread" },
    ];
    void settle(channelId, narrow, MAX_MENTIONS, (messages) => settleMentions(model.state, channelId, messages, model.changes));
  }
}

function adopt(state: State, ahead?: Ahead): void {
  if (!model) {
    model = new Model(state);
    feeds = new Feeds(model, ahead);
    topics = new Topics(model);
    model.changes.listen(announce);
    outbox = new Outbox(model, feeds, TAB, storageOf("localStorage"));
    return;
  }
  const previous = model.state;
  model.state = state;
  feeds.reset(previous);
  topics.reset();
  outbox.settle();
  announceAll();
}

function setHealth(now: Health): void {
  const isBack = now.kind === "connected" && health.value.kind !== "connected";
  health.value = now;
  if (!isBack) return;
  // What waits for its next attempt need not wait any longer.
  outbox?.retryNow();
  feeds?.retryFailed();
}

function poll(): void {
  queue?.stop();
  queue = new EventQueue(model.state.queueId, model.state.lastEventId, {
    onEvents: (events, last) => {
      const { queueId, lastEventId: after } = model.state;
      if (last > after) tabs.broadcast({ events, queueId, after, last });
      receive({ events, queueId, after, last });
    },
    onHealth: (now) => {
      setHealth(now);
      tabs.broadcastHealth(now);
    },
    onExpired: async (signal) => {
      adopt(stateOf(await register(signal)));
      tabs.broadcastState();
      return model.state;
    },
  }, health.value.kind === "reconnecting" ? health.value.since : undefined);
  void queue.run();
  void presence?.ping();
}

const tabsHost: TabsHost = {
  position: () => ({ queueId: model.state.queueId, last: model.state.lastEventId }),
  snapshot: () => snapshotOf(model.state),
  health: () => health.value,
  onBatch: receive,
  onLocal: applyEvents,
  onSnapshot: (snapshot) => adopt(stateOfSnapshot(snapshot)),
  onHealth: setHealth,
  onLead: poll,
  onFollow: () => queue?.stop(),
  onActive: () => presence?.noteActive(),
  onRoll: (present) => outbox.adopt(({ tab }) => !present.has(tab)),
};

function makeTabs(): Tabs {
  const leadership = leadershipOf(TAB, storageOf("localStorage"));
  const channel = leadership && new BroadcastChannel("parley.tabs");
  return new Tabs(TAB, csrfToken(), channel, leadership, tabsHost);
}

/**
 * Take the state of the leader of the tabs, or register, and follow the events from there on.
 *
 * The first messages of `wanted` are asked for beside register; `feeds.open` takes them.
 */
export async function start(wanted?: Narrow): Promise<void> {
  tabs ??= makeTabs();
  const snapshot = await tabs.join();
  if (snapshot) adopt(stateOfSnapshot(snapshot));
  else {
    const registering = register();
    const ahead = wanted && askAhead(wanted);
    adopt(stateOf(await registering), ahead);
  }
  if (!model.state.queueId) return;
  presence = new PresencePings({
    isLeader: () => tabs.isLeader,
    state,
    apply: (events) => {
      tabs.broadcastLocal(events);
      applyEvents(events);
    },
    reportActive: () => tabs.reportActive(),
  });
  tabs.start();
  presence.start();
  // The next poll shows at once whether the server can be reached.
  for (const change of ["online", "offline"]) addEventListener(change, () => queue?.interrupt());
  document.addEventListener("resume", () => queue?.interrupt());
  document.addEventListener("visibilitychange", onVisible);
  addEventListener("pageshow", onVisible);
  addEventListener("pagehide", () => tabs.leave());
}

/** The page is shown again: timers may have been slow meanwhile. */
function onVisible(): void {
  if (document.visibilityState === "hidden") return;
  queue?.retryNow();
  tabs.check();
  outbox.retryNow();
}
