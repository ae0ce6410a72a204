/** What stands for the browser and the server at the edge of what is tested. */

import { vi } from "vitest";
import { Model } from "../src/model/model";
import { stateOf } from "../src/model/state";
import type { Message, RegisterState } from "../src/protocol/types";

/** A storage like the browser's, which may be shared by several tabs. */
export class FakeStorage implements Storage {
  readonly items = new Map<string, string>();
  isFull = false;

  get length(): number {
    return this.items.size;
  }
  clear(): void {
    this.items.clear();
  }
  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }
  key(index: number): string | null {
    return [...this.items.keys()][index] ?? null;
  }
  removeItem(key: string): void {
    this.items.delete(key);
  }
  setItem(key: string, value: string): void {
    if (this.isFull) throw new DOMException("full", "QuotaExceededError");
    this.items.set(key, value);
  }
}

export interface FakeRequest {
  method: string;
  path: string;
  params: URLSearchParams;
  headers: Headers;
}

export type Answer = { status?: number; body?: object; headers?: Record<string, string> } | "network error";

/** Wait for an answer as the browser does: an abort ends it. */
function unlessAborted(answer: Answer | Promise<Answer>, signal?: AbortSignal | null): Promise<Answer> {
  return new Promise((resolve, reject) => {
    Promise.resolve(answer).then(resolve, reject);
    signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
  });
}

/** A server that answers by a function, and remembers what it was asked. */
export class FakeServer {
  readonly requests: FakeRequest[] = [];

  constructor(public answer: (request: FakeRequest) => Answer | Promise<Answer>) {
    vi.stubGlobal("document", { cookie: "csrftoken=secret" });
    vi.stubGlobal("fetch", async (url: string, options: RequestInit): Promise<Response> => {
      const [path, query] = url.split("?");
      const request = {
        method: options.method!,
        path: path!,
        params: new URLSearchParams(query ?? (options.body as URLSearchParams | null)?.toString()),
        headers: new Headers(options.headers),
      };
      this.requests.push(request);
      const answer = await unlessAborted(this.answer(request), options.signal);
      if (answer === "network error") throw new TypeError("Failed to fetch");
      const { status = 200, body = {}, headers } = answer;
      return new Response(JSON.stringify(body), { status, ...(headers ? { headers } : {}) });
    });
  }
}

export const SELF = 10;

/** A model of an organization with two people and a channel. */
export function aModel(registered: Record<string, unknown> = {}): Model {
  const answer: Record<string, unknown> = {
    user_id: SELF,
    queue_id: "queue-1",
    last_event_id: -1,
    max_message_id: 100,
    realm_users: [aUser(SELF, "Ada"), aUser(11, "Bert")],
    subscriptions: [{ stream_id: 1, name: "general", subscriber_count: 2 }],
    ...registered,
  };
  return new Model(stateOf(answer as Partial<RegisterState>));
}

export function aUser(user_id: number, full_name: string): Record<string, unknown> {
  return { user_id, full_name, email: `user${user_id}@example.org`, role: 400, is_admin: false, is_guest: false };
}

export function aMessage(id: number, changes: Record<string, unknown> = {}): Message {
  const message = {
    id,
    type: "stream",
    stream_id: 1,
    subject: "plans",
    sender_id: 11,
    display_recipient: "general",
    content: "<p>Hi</p>",
    flags: [],
    reactions: [],
    submessages: [],
    ...changes,
  };
  return message as unknown as Message;
}
