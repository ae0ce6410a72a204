/** The event queue: long polls, resumed across restarts of the server, sleep and networks. */

import type { ServerEvent } from "../model/reducers";
import { ApiError, get, NetworkError, post } from "../protocol/client";

/** How the connection is, for people to see. */
export type Health = { kind: "connected" } | { kind: "reconnecting"; since: number } | { kind: "signed-out" };

export const CAPABILITIES = {
  notification_settings_null: true,
  bulk_message_deletion: true,
  user_avatar_url_field_optional: false,
  stream_typing_notifications: true,
  user_settings_object: true,
  linkifier_url_template: true,
  user_list_incomplete: true,
  include_deactivated_groups: true,
  archived_channels: true,
  empty_topic_name: true,
  simplified_presence_events: true,
};

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** A poll that brings nothing for so long is given up: servers answer within a minute. */
const POLL_TIMEOUT_MS = 100_000;
/** The same for one that does not wait for events. */
const RETRY_TIMEOUT_MS = 15_000;

/** The parameters of register. */
export const REGISTRATION = {
  apply_markdown: true,
  client_gravatar: false,
  include_subscribers: false,
  slim_presence: true,
  presence_history_limit_days: 14,
  client_capabilities: CAPABILITIES,
};

export function register(signal?: AbortSignal): Promise<Record<string, any>> {
  return post<Record<string, any>>("/register", REGISTRATION, signal ? { signal } : {});
}

export interface QueueListener {
  /** Apply a batch of events, the last of which has this id. The next poll acknowledges it. */
  onEvents(events: ServerEvent[], last: number): void;
  /** The queue is gone: register again, and return the new queue. */
  onExpired(): Promise<{ queueId: string; lastEventId: number }>;
  onHealth(health: Health): void;
}

/** How often it is looked whether the machine has slept, and by how much a look must be late then. */
const CLOCK_EVERY_MS = 10_000;
const SLEPT_MS = 65_000;

/** Poll a queue until it is stopped. */
export class EventQueue {
  #stopped = false;
  #wake: (() => void) | undefined;
  #poll: AbortController | undefined;
  #isInterrupted = false;
  #failedSince: number | undefined;

  constructor(
    private queueId: string,
    private lastEventId: number,
    private readonly listener: QueueListener,
  ) {}

  stop(): void {
    this.#stopped = true;
    this.#poll?.abort();
    this.#wake?.();
  }

  /** Poll at once rather than after the wait: the page is shown again. */
  retryNow(): void {
    this.#wake?.();
  }

  /** Abort the present poll, as its connection may be dead, and poll anew at once. */
  interrupt(): void {
    this.#isInterrupted = true;
    this.#poll?.abort();
    this.#wake?.();
  }

  async run(): Promise<void> {
    const stopClock = onWaking(() => this.interrupt());
    try {
      let delay = FIRST_RETRY_MS;
      while (!this.#stopped) {
        const failure = await this.#turn();
        if (!failure) delay = FIRST_RETRY_MS;
        else if (failure.isFinal) return;
        else {
          await this.#sleep(Math.max(failure.asked, delay * (0.5 + Math.random() / 2)));
          delay = Math.min(delay * 2, MAX_RETRY_MS);
        }
      }
    } finally {
      stopClock();
    }
  }

  /** Poll once, and apply what comes. Returns what to do about a failure. */
  async #turn(): Promise<{ isFinal: boolean; asked: number } | undefined> {
    try {
      const events = await this.#pollOnce();
      if (this.#stopped) return undefined;
      if (this.#failedSince !== undefined) this.listener.onHealth({ kind: "connected" });
      this.#failedSince = undefined;
      this.lastEventId = Math.max(this.lastEventId, ...events.map((each) => each.id ?? -1));
      this.listener.onEvents(events.filter((each) => each.type !== "heartbeat"), this.lastEventId);
      return undefined;
    } catch (error) {
      if (this.#stopped) return undefined;
      return this.#failed(error);
    }
  }

  async #failed(error: unknown): Promise<{ isFinal: boolean; asked: number } | undefined> {
    if (isAbort(error) && this.#isInterrupted) return undefined;
    const refusal = error instanceof ApiError ? error : undefined;
    if (refusal?.code === "BAD_EVENT_QUEUE_ID") {
      if (await this.#registerAgain()) return undefined;
    } else if (refusal && (refusal.status === 401 || refusal.status === 403)) {
      this.listener.onHealth({ kind: "signed-out" });
      return { isFinal: true, asked: 0 };
    } else if (!refusal && !(error instanceof NetworkError) && !isAbort(error)) throw error;
    this.#failedSince ??= Date.now();
    this.listener.onHealth({ kind: "reconnecting", since: this.#failedSince });
    return { isFinal: false, asked: (refusal?.retryAfter ?? 0) * 1000 };
  }

  async #pollOnce(): Promise<ServerEvent[]> {
    const poll = new AbortController();
    this.#poll = poll;
    // After a failure the first poll returns at once, which shows that the server is back.
    const isRetry = this.#failedSince !== undefined || this.#isInterrupted;
    this.#isInterrupted = false;
    const timer = setTimeout(() => poll.abort(), isRetry ? RETRY_TIMEOUT_MS : POLL_TIMEOUT_MS);
    try {
      const { events } = await get<{ events: ServerEvent[] }>(
        "/events",
        { queue_id: this.queueId, last_event_id: this.lastEventId, ...(isRetry ? { dont_block: true } : {}) },
        { signal: poll.signal },
      );
      return events;
    } finally {
      clearTimeout(timer);
    }
  }

  async #registerAgain(): Promise<boolean> {
    try {
      ({ queueId: this.queueId, lastEventId: this.lastEventId } = await this.listener.onExpired());
      if (this.#failedSince !== undefined) this.listener.onHealth({ kind: "connected" });
      this.#failedSince = undefined;
      return true;
    } catch (error) {
      if (error instanceof ApiError || error instanceof NetworkError) return false;
      throw error;
    }
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Call a function when timers show that the machine has slept. Returns a function that ends this. */
function onWaking(then: () => void): () => void {
  let looked = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    // Timers of pages in the background are late by up to a minute: their polls are cut in vain.
    if (now - looked > CLOCK_EVERY_MS + SLEPT_MS) then();
    looked = now;
  }, CLOCK_EVERY_MS);
  return () => clearInterval(timer);
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
