/** What the page holds: model, feeds and event queue, tied together. */

import { signal } from "@preact/signals";
import { Feeds } from "./model/feeds";
import { Model } from "./model/model";
import type { ServerEvent } from "./model/reducers";
import type { State } from "./model/state";
import { Topics } from "./model/topics";
import { EventQueue, type Health, register } from "./sync/events";
import { Outbox } from "./sync/outbox";
import { claimTabId, storageOf } from "./sync/tab-id";
import { announce, announceAll } from "./ui/watch";

export const health = signal<Health>({ kind: "connected" });

let model: Model;
export let feeds: Feeds;
export let topics: Topics;
/** Messages on their way to the server. Read it in a component after `watch("outbox")`. */
export let outbox: Outbox;
let queue: EventQueue;

/** The state. Read it in a component after `watch`. */
export function state(): State {
  return model.state;
}

export function theModel(): Model {
  return model;
}

type BatchListener = (events: readonly ServerEvent[]) => void;
const batchListeners = new Set<BatchListener>();

/** Call a function after each batch of events was applied. Returns a function that ends this. */
export function onBatch(listener: BatchListener): () => void {
  batchListeners.add(listener);
  return () => batchListeners.delete(listener);
}

function applyBatch(events: ServerEvent[]): void {
  for (const event of events) model.apply(event);
  feeds.follow(events);
  topics.update(events);
  outbox.settle(events);
  model.changes.flush();
  for (const listener of batchListeners) listener(events);
}

function adopt(registered: Record<string, any>): void {
  if (!model) {
    model = new Model(registered);
    feeds = new Feeds(model);
    topics = new Topics(model);
    model.changes.listen(announce);
    outbox = new Outbox(model, feeds, claimTabId(), storageOf("localStorage"));
    return;
  }
  const fresh = new Model(registered);
  const previous = model.state;
  model.state = fresh.state;
  feeds.reset(previous);
  topics.reset();
  outbox.settle();
  announceAll();
}

/** Register, and follow the events from there on. */
export async function start(): Promise<void> {
  adopt(await register());
  queue = new EventQueue(model.state.queueId, model.state.lastEventId, {
    onEvents: applyBatch,
    onHealth: (now) => {
      health.value = now;
    },
    onExpired: async () => {
      adopt(await register());
      return { queueId: model.state.queueId, lastEventId: model.state.lastEventId };
    },
  });
  void queue.run();
  const retry = () => queue.retryNow();
  addEventListener("online", retry);
  document.addEventListener("visibilitychange", retry);
}
