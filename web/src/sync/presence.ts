/** Reports the user's presence, and keeps that of others. */

import type { ServerEvent } from "../model/events";
import type { State } from "../model/state";
import type { ModernPresence } from "../protocol/types";
import { ApiError, NetworkError, post } from "../protocol/client";

/** How long after the last input the user is idle. */
const IDLE_MS = 5 * 60_000;
/** Inputs that follow each other so closely count as one. */
const INPUT_EVERY_MS = 1_000;
const REPORT_EVERY_MS = 20_000;
const INPUTS = ["keydown", "pointerdown", "pointermove", "wheel", "touchstart"] as const;

interface Pinged {
  presences?: Record<string, ModernPresence>;
  presence_last_update_id: number;
}

export interface PresenceHost {
  /** Only the leader of the tabs reports. */
  isLeader(): boolean;
  state(): State;
  /** Apply what the server has returned, in all tabs. */
  apply(events: ServerEvent[]): void;
  /** Let the leader know that the user is active in this tab. */
  reportActive(): void;
}

export class PresencePings {
  #lastInput = Date.now();
  #hasNewInput = true;
  #reportedAt = 0;

  constructor(private readonly host: PresenceHost) {}

  /** Report every so often as the server has said. A tab that becomes the leader pings at once. */
  start(): void {
    for (const each of INPUTS) addEventListener(each, () => this.#onInput(), { passive: true, capture: true });
    const seconds = Number(this.host.state().fields.server_presence_ping_interval_seconds) || 60;
    setInterval(() => void this.ping(), seconds * 1000);
  }

  /** One is active, in this tab or in another. */
  noteActive(): void {
    const wasIdle = this.#isIdle;
    this.#lastInput = Date.now();
    this.#hasNewInput = true;
    if (wasIdle) void this.ping();
  }

  async ping(): Promise<void> {
    const { host } = this;
    if (!host.isLeader()) return;
    const { presence_last_update_id } = host.state().fields;
    const hasNewInput = this.#hasNewInput;
    this.#hasNewInput = false;
    try {
      const pinged = await post<Pinged>("/users/me/presence", {
        status: this.#isIdle ? "idle" : "active",
        new_user_input: hasNewInput,
        slim_presence: true,
        last_update_id: presence_last_update_id ?? -1,
      });
      const { presences = {}, presence_last_update_id: last } = pinged;
      host.apply([{ type: "presence", presences, presence_last_update_id: last }]);
    } catch (error) {
      // The event queue shows that the server cannot be reached; the next ping asks for the same.
      this.#hasNewInput ||= hasNewInput;
      if (!(error instanceof ApiError || error instanceof NetworkError)) throw error;
    }
  }

  get #isIdle(): boolean {
    return Date.now() - this.#lastInput > IDLE_MS;
  }

  #onInput(): void {
    const now = Date.now();
    if (now - this.#lastInput < INPUT_EVERY_MS) return;
    this.noteActive();
    if (this.host.isLeader() || now - this.#reportedAt < REPORT_EVERY_MS) return;
    this.#reportedAt = now;
    this.host.reportActive();
  }
}
