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

export function register(signal?: AbortSignal): Promise<Record<string, any>> {
  return post<Record<string, any>>(
    "/register",
    {
      apply_markdown: true,
      client_gravatar: false,
      include_subscribers: false,
      slim_presence: true,
      presence_history_limit_days: 14,
      client_capabilities: CAPABILITIES,
      fetch_event_types: null,
    },
    signal ? { signal } : {},
  );
}

export interface QueueListener {
  /** Apply a batch of events. */
  onEvents(events: ServerEvent[]): void;
  /** The queue is gone: register again, and return the new queue. */
  onExpired(): Promise<{ queueId: string; lastEventId: number }>;
  onHealth(health: Health): void;
}

/** Poll a queue until it is stopped. */
export class EventQueue {
  #stopped = false;
  #wake: (() => void) | undefined;
  #poll: AbortController | undefined;

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

  /** Poll at once rather than after the wait: the network is back, or the page is shown again. */
  retryNow(): void {
    this.#wake?.();
  }

  async run(): Promise<void> {
    let delay = FIRST_RETRY_MS;
    let failedSince: number | undefined;
    while (!this.#stopped) {
      try {
        const events = await this.#pollOnce(failedSince !== undefined);
        if (this.#stopped) return;
        if (failedSince !== undefined) this.listener.onHealth({ kind: "connected" });
        failedSince = undefined;
        delay = FIRST_RETRY_MS;
        if (events.length) this.lastEventId = Math.max(...events.map((each) => each.id ?? -1));
        this.listener.onEvents(events.filter((each) => each.type !== "heartbeat"));
      } catch (error) {
        if (this.#stopped) return;
        if (error instanceof ApiError && error.code === "BAD_EVENT_QUEUE_ID") {
          if (await this.#registerAgain()) continue;
        } else if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
          this.listener.onHealth({ kind: "signed-out" });
          return;
        } else if (!(error instanceof ApiError || error instanceof NetworkError || isAbort(error))) throw error;
        failedSince ??= Date.now();
        this.listener.onHealth({ kind: "reconnecting", since: failedSince });
        const asked = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0;
        await this.#sleep(Math.max(asked, delay * (0.5 + Math.random() / 2)));
        delay = Math.min(delay * 2, MAX_RETRY_MS);
      }
    }
  }

  async #pollOnce(isRetry: boolean): Promise<ServerEvent[]> {
    const poll = new AbortController();
    this.#poll = poll;
    const timer = setTimeout(() => poll.abort(), POLL_TIMEOUT_MS);
    try {
      const { events } = await get<{ events: ServerEvent[] }>(
        "/events",
        // After a failure the first poll returns at once, which shows that the server is back.
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

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
