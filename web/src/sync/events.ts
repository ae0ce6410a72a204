/** The event queue: long polls, resumed across restarts of the server, sleep and networks. */

import type { ServerEvent } from "../model/events";
import { ApiError, get, NetworkError, post } from "../protocol/client";
import type { Answer } from "../protocol/types";

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
  slash_commands: true,
  message_buttons: true,
  pins: true,
  reaction_notifications: true,
  topic_descriptions: true,
};

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** A poll that brings nothing for so long is given up: servers answer within a minute. */
const POLL_TIMEOUT_MS = 100_000;
/** The same for one that does not wait for events. */
const RETRY_TIMEOUT_MS = 15_000;
/** The same for a registration, which may be large. */
const REGISTER_TIMEOUT_MS = 60_000;

/** The parameters of register. */
export const REGISTRATION = {
  apply_markdown: true,
  client_gravatar: false,
  include_subscribers: false,
  slim_presence: true,
  presence_history_limit_days: 14,
  client_capabilities: CAPABILITIES,
};

export function register(signal?: AbortSignal): Promise<Answer<"POST /register">> {
  return post<Answer<"POST /register">>("/register", REGISTRATION, signal ? { signal } : {});
}

export interface QueueListener {
  /** Apply a batch of events, the last of which has this id. The next poll acknowledges it. */
  onEvents(events: ServerEvent[], last: number): void;
  /** The queue is gone: register again, and return the new queue. The signal aborts it. */
  onExpired(signal: AbortSignal): Promise<{ queueId: string; lastEventId: number }>;
  onHealth(health: Health): void;
}

/** What to do about a failure: nothing more, or to wait, at least as long as the server has asked. */
interface Failure {
  isFinal: boolean;
  asked: number;
}

const AGAIN: Failure = { isFinal: false, asked: 0 };

/** How often it is looked whether the machine has slept, and by how much a look must be late then. */
const CLOCK_EVERY_MS = 10_000;
const SLEPT_MS = 65_000;

/** Poll a queue until it is stopped. */
export class EventQueue {
  #stopped = false;
  #wake: (() => void) | undefined;
  #request: AbortController | undefined;
  #isInterrupted = false;
  /** Whether the state has to be registered anew: the queue is gone, or events could not be applied. */
  #isLost = false;
  /** Whether nothing was polled from this queue yet that was registered in place of another. */
  #isUntried = false;
  #delay = FIRST_RETRY_MS;
  #failedSince: number | undefined;

  constructor(
    private queueId: string,
    private lastEventId: number,
    private readonly listener: QueueListener,
    /** Since when the queue could not be polled, if another tab has tried before. */
    failedSince?: number,
  ) {
    this.#failedSince = failedSince;
  }

  stop(): void {
    this.#stopped = true;
    this.#request?.abort();
    this.#wake?.();
  }

  /** Poll at once rather than after the wait: the page is shown again. */
  retryNow(): void {
    this.#wake?.();
  }

  /** Abort the present request, as its connection may be dead, and poll anew at once. */
  interrupt(): void {
    this.#isInterrupted = true;
    this.#request?.abort();
    this.#wake?.();
  }

  async run(): Promise<void> {
    const stopClock = onWaking(() => this.interrupt());
    try {
      while (!this.#stopped) {
        const failure = this.#isLost ? await this.#registerAgain() : await this.#turn();
        if (failure?.isFinal) return;
        if (!failure) continue;
        await this.#sleep(Math.max(failure.asked, this.#delay * (0.5 + Math.random() / 2)));
        this.#delay = Math.min(this.#delay * 2, MAX_RETRY_MS);
      }
    } finally {
      stopClock();
    }
  }

  /** Poll once, and apply what comes. Returns what to do about a failure. */
  async #turn(): Promise<Failure | undefined> {
    let events: ServerEvent[];
    try {
      events = await this.#pollOnce();
    } catch (error) {
      return this.#stopped ? undefined : this.#failed(error);
    }
    if (this.#stopped) return undefined;
    this.#isUntried = false;
    this.#isHealthy();
    this.lastEventId = Math.max(this.lastEventId, ...events.map((each) => each.id ?? -1));
    try {
      this.listener.onEvents(events.filter((each) => each.type !== "heartbeat"), this.lastEventId);
      this.#delay = FIRST_RETRY_MS;
      return undefined;
    } catch (error) {
      // What could not be applied would be missing from the state for good.
      reportError(error);
      this.#isLost = true;
      return AGAIN;
    }
  }

  async #failed(error: unknown): Promise<Failure | undefined> {
    if (isAbort(error) && this.#isInterrupted) return undefined;
    const refusal = error instanceof ApiError ? error : undefined;
    if (refusal?.code === "BAD_EVENT_QUEUE_ID") {
      // A queue that is gone as soon as it was made is not made again at once.
      this.#isLost = true;
      return this.#isUntried ? AGAIN : undefined;
    }
    if (refusal && (refusal.status === 401 || refusal.status === 403)) {
      this.listener.onHealth({ kind: "signed-out" });
      return { isFinal: true, asked: 0 };
    }
    if (!refusal && !(error instanceof NetworkError) && !isAbort(error)) reportError(error);
    this.#failedSince ??= Date.now();
    this.listener.onHealth({ kind: "reconnecting", since: this.#failedSince });
    return { isFinal: false, asked: (refusal?.retryAfter ?? 0) * 1000 };
  }

  async #pollOnce(): Promise<ServerEvent[]> {
    // After a failure the first poll returns at once, which shows that the server is back.
    const isRetry = this.#failedSince !== undefined || this.#isInterrupted;
    const { events } = await this.#within(isRetry ? RETRY_TIMEOUT_MS : POLL_TIMEOUT_MS, (signal) =>
      get<{ events: ServerEvent[] }>(
        "/events",
        { queue_id: this.queueId, last_event_id: this.lastEventId, ...(isRetry ? { dont_block: true } : {}) },
        { signal },
      ),
    );
    return events;
  }

  /** Register in place of a queue that is gone. Returns what to do about a failure. */
  async #registerAgain(): Promise<Failure | undefined> {
    try {
      const { queueId, lastEventId } = await this.#within(REGISTER_TIMEOUT_MS, (signal) => this.listener.onExpired(signal));
      [this.queueId, this.lastEventId] = [queueId, lastEventId];
    } catch (error) {
      return this.#stopped ? undefined : this.#failed(error);
    }
    this.#isHealthy();
    this.#isLost = false;
    this.#isUntried = true;
    return undefined;
  }

  /** Run a request that is aborted when it takes too long, is interrupted, or the queue is stopped. */
  async #within<Result>(milliseconds: number, run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const request = new AbortController();
    this.#request = request;
    this.#isInterrupted = false;
    const timer = setTimeout(() => request.abort(), milliseconds);
    try {
      return await run(request.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  #isHealthy(): void {
    if (this.#failedSince !== undefined) this.listener.onHealth({ kind: "connected" });
    this.#failedSince = undefined;
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
