/**
 * The outbox: messages on their way to the server.
 *
 * `send` shows a message at once (`pending`) and sends it as often as needed: each attempt has the
 * same `Idempotency-Key`, so it is one message whatever happens to responses, to the server or to
 * this page. Messages of one conversation are sent in order, one at a time. What has not been sent
 * is kept in the browser's storage, per account, and is sent by the tab that is loaded next.
 */

import type { Feeds } from "../model/feeds";
import { matches } from "../model/feeds";
import type { Model } from "../model/model";
import type { Conversation, Narrow } from "../model/narrow";
import { conversationKey, echoOf, type Outgoing } from "../model/outgoing";
import { keepMessage } from "../model/reducers/messages";
import type { ServerEvent } from "../model/events";
import type { Message } from "../model/state";
import { ApiError, get, NetworkError, type Params, post } from "../protocol/client";
import { randomId } from "./tab-id";

/** A message to send. */
export interface NewMessage {
  to: Conversation;
  /** Markdown. */
  content: string;
}

/** A message of the outbox as a feed shows it, below all messages that the server has. */
export interface Pending {
  outgoing: Outgoing;
  /** What to show as the message: plain paragraphs; its id is negative. */
  echo: Message;
}

interface Entry extends Outgoing {
  tab: string;
  key: string;
  /** The request, which every attempt repeats exactly. */
  request: Params;
  firstTriedAt?: number;
  /** When it was written, or the person asked to try again. */
  wantedAt: number;
  echoId: number;
}

interface Sender {
  /** Cuts the wait for the next attempt short. */
  wake: () => void;
  /** Looks again whether another tab has sent what was written there before. */
  look: () => void;
}

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** How long a message is tried by itself, after it was written or the person asked to try again. */
const MAX_RETRYING_MS = 60 * 60_000;
/** How often an answer is tried again that says that the server has a fault. */
const MAX_FAULTS = 3;
/** How long a message waits for those that were written before it in another tab. */
const MAX_QUEUING_MS = 10_000;
/** Servers know an Idempotency-Key for a day at least: later, an attempt might be a second message. */
const KEY_LIFETIME_MS = 20 * 60 * 60_000;
/** How long the event of a message that was sent may take. */
const EVENT_DELAY_MS = 4_000;

export class Outbox {
  readonly #entries = new Map<string, Entry>();
  /** Conversations with a sender at work, and how to cut its wait short. */
  readonly #senders = new Map<string, Sender>();
  readonly #sentHere = new Map<number, string>();
  #echoes = 0;

  constructor(
    private readonly model: Model,
    private readonly feeds: Feeds,
    readonly tab: string,
    private readonly storage: Storage | undefined,
  ) {
    this.adopt((each) => each.tab === tab);
    globalThis.addEventListener?.("storage", (event) => this.#onStorage(event));
    globalThis.addEventListener?.("online", () => this.retryNow());
  }

  /**
   * Send a message: it is in `pending` when this returns, and needs no further care.
   *
   * Returns its local id.
   */
  send({ to, content }: NewMessage): string {
    const { state } = this.model;
    const localId = `${this.tab}.${randomId(6)}`;
    const request: Params = {
      content,
      ...(to.kind === "topic"
        ? { type: "channel", to: to.channelId, topic: to.topic }
        : { type: "direct", to: [...to.userIds] }),
      read_by_sender: true,
      ...(state.queueId ? { queue_id: state.queueId } : {}),
      local_id: localId,
    };
    const now = Date.now();
    const entry: Entry = {
      localId,
      to,
      content,
      createdAt: now,
      wantedAt: now,
      status: "sending",
      tab: this.tab,
      key: randomId(16),
      request,
      echoId: --this.#echoes,
    };
    this.#entries.set(localId, entry);
    this.#start(entry);
    // An attempt stores it before the request leaves.
    if (entry.firstTriedAt === undefined) this.#store(entry);
    this.#changed();
    return localId;
  }

  /** Return the messages of a narrow that are being sent, the oldest first. */
  pending(narrow: Narrow): Pending[] {
    const { state } = this.model;
    const found: Pending[] = [];
    for (const outgoing of this.#entries.values()) {
      const echo = echoOf(outgoing, outgoing.echoId, state);
      if (matches(echo, narrow.terms, state) === true) found.push({ outgoing, echo });
    }
    return found;
  }

  /** Return every message that is being sent, of any conversation, the oldest first. */
  all(): Outgoing[] {
    return [...this.#entries.values()];
  }

  /** Return the local id that a message had while it was being sent here: a stable key for its row. */
  localIdOf(messageId: number): string | undefined {
    return this.#sentHere.get(messageId);
  }

  /** Try a message again that has failed or waits. */
  retry(localId: string): void {
    const entry = this.#entries.get(localId);
    if (!entry || entry.status === "sent" || entry.status === "sending") return;
    if (isKeyTooOld(entry)) {
      entry.key = randomId(16);
      delete entry.firstTriedAt;
    }
    entry.wantedAt = Date.now();
    if (entry.status === "failed") this.#update(entry, { status: "sending" });
    this.#hurry(entry);
    this.#start(entry);
  }

  /** Try all messages that wait at once: the network or the server is back. */
  retryNow(): void {
    for (const sender of this.#senders.values()) sender.wake();
  }

  /**
   * Give a message up, and return it, so that its text can be written on.
   *
   * One that is on its way at that moment may be sent all the same.
   */
  discard(localId: string): Outgoing | undefined {
    const entry = this.#entries.get(localId);
    if (!entry || entry.status === "sent") return undefined;
    this.#remove(entry);
    this.#changed();
    this.#hurry(entry);
    return entry;
  }

  /** Take over stored messages: those of this tab before it was reloaded, or of tabs that are gone. */
  adopt(isOurs: (entry: { localId: string; tab: string }) => boolean): void {
    const stored = this.#stored().filter((each) => !this.#entries.has(each.localId) && isOurs(each));
    for (const entry of stored.sort((one, other) => one.createdAt - other.createdAt)) {
      entry.tab = this.tab;
      entry.echoId = --this.#echoes;
      if (entry.status === "waiting") entry.status = "sending";
      this.#entries.set(entry.localId, entry);
      this.#store(entry);
      if (entry.status === "sending") this.#start(entry);
    }
    if (stored.length) this.#changed();
  }

  /** Replace echoes by the messages that have arrived. Call it after events or a new state. */
  settle(events: readonly ServerEvent[] = []): void {
    for (const event of events) {
      if (event.type !== "message" || event.local_message_id === undefined) continue;
      const entry = this.#entries.get(event.local_message_id);
      if (entry) this.#confirmed(entry, event.message.id);
    }
    for (const entry of this.#entries.values()) {
      // The queue has its events in the order of message ids: a later one means that this one came.
      if (entry.messageId !== undefined && entry.messageId <= this.model.state.maxMessageId) this.#remove(entry);
    }
  }

  #confirmed(entry: Entry, messageId: number): void {
    this.#sentHere.set(messageId, entry.localId);
    this.#remove(entry);
    this.#changed();
  }

  /** Let the sender of a message wait no longer. */
  #hurry(entry: Entry): void {
    const sender = this.#senders.get(this.#conversationOf(entry));
    sender?.wake();
    sender?.look();
  }

  #start(entry: Entry): void {
    const conversation = this.#conversationOf(entry);
    if (!this.#senders.has(conversation)) void this.#run(conversation);
  }

  /** Send what there is of a conversation, in order. */
  async #run(conversation: string): Promise<void> {
    const sender: Sender = { wake: () => {}, look: () => {} };
    this.#senders.set(conversation, sender);
    let delay = FIRST_RETRY_MS;
    let faults = 0;
    for (;;) {
      const entry = this.#next(conversation);
      if (!entry) break;
      if (isKeyTooOld(entry)) {
        this.#update(entry, { status: "failed", error: "It is not known whether this message was sent." });
        continue;
      }
      if (this.#isBehindAnotherTab(entry)) {
        await this.#queue(entry, sender);
        if (this.#next(conversation) !== entry) continue;
      }
      try {
        await this.#attempt(entry);
        [delay, faults] = [FIRST_RETRY_MS, 0];
      } catch (error) {
        faults += error instanceof ApiError && error.code === "INTERNAL_SERVER_ERROR" ? 1 : 0;
        if (!this.#willRetry(entry, error as Error, faults)) {
          this.#update(entry, { status: "failed", error: (error as Error).message });
          [delay, faults] = [FIRST_RETRY_MS, 0];
          continue;
        }
        this.#update(entry, { status: "waiting", error: (error as Error).message });
        const asked = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.max(asked, delay * (0.5 + Math.random() / 2)));
          sender.wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        delay = Math.min(delay * 2, MAX_RETRY_MS);
      }
    }
    this.#senders.delete(conversation);
  }

  /** Wait until other tabs have sent what was written before this, as long as they seem to do so. */
  async #queue(entry: Entry, sender: Sender): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, MAX_QUEUING_MS);
      sender.look = () => {
        if (this.#entries.has(entry.localId) && this.#isBehindAnotherTab(entry)) return;
        clearTimeout(timer);
        resolve();
      };
    });
    sender.look = () => {};
  }

  #isBehindAnotherTab(entry: Entry): boolean {
    const conversation = this.#conversationOf(entry);
    return this.#stored().some(
      (each) =>
        each.tab !== this.tab &&
        each.createdAt < entry.createdAt &&
        isOpen(each) &&
        this.#conversationOf(each) === conversation,
    );
  }

  #next(conversation: string): Entry | undefined {
    for (const entry of this.#entries.values()) {
      if (isOpen(entry) && this.#conversationOf(entry) === conversation) return entry;
    }
    return undefined;
  }

  #willRetry(entry: Entry, error: Error, faults: number): boolean {
    if (Date.now() - entry.wantedAt > MAX_RETRYING_MS || faults > MAX_FAULTS) return false;
    if (error instanceof NetworkError) return true;
    return error instanceof ApiError && (error.isTransient || error.status === 401);
  }

  async #attempt(entry: Entry): Promise<void> {
    if (entry.firstTriedAt === undefined) {
      entry.firstTriedAt = Date.now();
      this.#store(entry);
    }
    const { id } = await post<{ id: number }>("/messages", entry.request, {
      headers: { "Idempotency-Key": entry.key },
    });
    this.#unstore(entry);
    if (!this.#entries.has(entry.localId)) return;
    this.#sentHere.set(id, entry.localId);
    if (id <= this.model.state.maxMessageId) {
      this.#remove(entry);
      this.#changed();
      return;
    }
    delete entry.error;
    Object.assign(entry, { status: "sent", messageId: id });
    this.#changed();
    const isAnnounced = entry.to.kind === "direct" || this.model.state.channels.get(entry.to.channelId)?.is_subscribed;
    setTimeout(() => void this.#fetch(entry), isAnnounced ? EVENT_DELAY_MS : 0);
  }

  /** Fetch a message of which no event came: senders who are not subscribed get none. */
  async #fetch(entry: Entry): Promise<void> {
    if (!this.#entries.has(entry.localId)) return;
    try {
      const { messages } = await get<{ messages: Message[] }>("/messages", {
        message_ids: [entry.messageId!],
        allow_empty_topic_name: true,
        client_gravatar: false,
        message_buttons: true,
      });
      this.feeds.update(messages.map((each) => keepMessage(this.model.state, each)));
      this.model.changes.mark("feeds");
      this.#remove(entry);
      this.#changed();
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof NetworkError)) throw error;
      setTimeout(() => void this.#fetch(entry), EVENT_DELAY_MS);
    }
  }

  #conversationOf(entry: Entry): string {
    return conversationKey(entry.to, this.model.state.userId);
  }

  #update(entry: Entry, change: Pick<Outgoing, "status"> & { error?: string }): void {
    if (!this.#entries.has(entry.localId)) return;
    delete entry.error;
    Object.assign(entry, change);
    this.#store(entry);
    this.#changed();
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.localId);
    this.#unstore(entry);
    this.model.changes.mark("outbox");
  }

  #changed(): void {
    this.model.changes.mark("outbox");
    this.model.changes.flush();
  }

  get #prefix(): string {
    return `parley.outbox.${this.model.state.userId}.`;
  }

  #store(entry: Entry): void {
    try {
      this.storage?.setItem(this.#prefix + entry.localId, JSON.stringify(entry));
    } catch {
      // The storage is full or switched off: the message is kept as long as this page is.
    }
  }

  #unstore(entry: Entry): void {
    this.storage?.removeItem(this.#prefix + entry.localId);
  }

  #stored(): Entry[] {
    const { storage } = this;
    if (!storage) return [];
    const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index)!);
    return keys.filter((each) => each.startsWith(this.#prefix)).flatMap((each) => parsed(storage.getItem(each)));
  }

  /**
   * Another tab has sent or taken over a message that may be here as well.
   *
   * Two tabs may take a message over at the same time: the one that the storage names keeps it. What
   * the event says may be out of date by then, and if each believed it, neither would have the message.
   */
  #onStorage({ key }: StorageEvent): void {
    if (!key?.startsWith(this.#prefix)) return;
    const owner = parsed(this.storage?.getItem(key) ?? null)[0]?.tab;
    const entry = this.#entries.get(key.slice(this.#prefix.length));
    if (owner === this.tab) {
      if (!entry) this.adopt(({ tab }) => tab === this.tab);
    } else if (entry && entry.status !== "sent") {
      this.#entries.delete(entry.localId);
      this.#changed();
    }
    for (const sender of this.#senders.values()) sender.look();
  }
}

function parsed(stored: string | null): Entry[] {
  try {
    const entry = JSON.parse(stored ?? "null") as Entry | null;
    return entry?.localId && entry.request ? [entry] : [];
  } catch {
    return [];
  }
}

function isOpen({ status }: Entry): boolean {
  return status === "sending" || status === "waiting";
}

function isKeyTooOld(entry: Entry): boolean {
  return entry.firstTriedAt !== undefined && Date.now() - entry.firstTriedAt > KEY_LIFETIME_MS;
}
