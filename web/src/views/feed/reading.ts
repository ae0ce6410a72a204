/** Marks messages as read as they are seen, in batches, by the person's settings. */

import { state, theModel } from "../../app";
import { conversationOf, type Narrow } from "../../model/narrow";
import { ApiError, NetworkError, post } from "../../protocol/client";
import { wireTerms } from "../../model/feeds";

const BATCH_DELAY_MS = 400;
const RETRY_MS = 5_000;
const MAX_BATCH = 1000;
/** Messages that one request of a whole narrow marks. */
const NARROW_BATCH = 1000;

const waiting = new Set<number>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Values of the setting `web_mark_read_on_scroll_policy`. */
const ReadPolicy = { ALWAYS: 1, CONVERSATIONS: 2, NEVER: 3 } as const;

/** Return whether what is seen in a narrow is marked as read. */
export function marksAsRead(narrow: Narrow): boolean {
  const policy = state().settings.web_mark_read_on_scroll_policy ?? ReadPolicy.ALWAYS;
  if (policy === ReadPolicy.NEVER) return false;
  return policy === ReadPolicy.ALWAYS || conversationOf(narrow) !== undefined;
}

/** Return whether a person looks at the page now. */
export function isLookedAt(): boolean {
  return document.visibilityState === "visible" && document.hasFocus();
}

/** Mark messages as read: here at once, on the server with the next batch. */
export function markRead(ids: readonly number[]): void {
  const unread = ids.filter((id) => state().unread.has(id));
  if (!unread.length) return;
  const model = theModel();
  model.apply({ type: "update_message_flags", op: "add", flag: "read", messages: unread });
  model.changes.flush();
  for (const id of unread) waiting.add(id);
  schedule(BATCH_DELAY_MS);
}

function schedule(delay: number): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    void flush();
  }, delay);
}

async function flush(keepalive = false): Promise<void> {
  const batch = [...waiting].slice(0, MAX_BATCH);
  if (!batch.length) return;
  for (const id of batch) waiting.delete(id);
  try {
    await post("/messages/flags", { messages: batch, op: "add", flag: "read" }, { keepalive });
  } catch (error) {
    const mayRetry = error instanceof NetworkError || (error instanceof ApiError && error.isTransient);
    if (!mayRetry) return;
    for (const id of batch) waiting.add(id);
    schedule(RETRY_MS);
    return;
  }
  if (waiting.size) schedule(0);
}

addEventListener("pagehide", () => void flush(true));

interface NarrowAnswer {
  last_processed_id: number | null;
  found_newest: boolean;
  ignored_because_not_subscribed_channels?: number[];
}

async function changeNarrow(narrow: Narrow, op: "add" | "remove", from: number | "oldest", terms = wireTerms(narrow)): Promise<number[]> {
  let anchor: number | "oldest" = from;
  let includesAnchor = true;
  for (;;) {
    const answer: NarrowAnswer = await post<NarrowAnswer>("/messages/flags/narrow", {
      anchor: String(anchor),
      include_anchor: includesAnchor,
      num_before: 0,
      num_after: NARROW_BATCH,
      narrow: terms,
      op,
      flag: "read",
    });
    if (answer.found_newest || answer.last_processed_id === null) return answer.ignored_because_not_subscribed_channels ?? [];
    anchor = answer.last_processed_id;
    includesAnchor = false;
  }
}

/** Mark all messages of a narrow as read. */
export async function markAllRead(narrow: Narrow): Promise<void> {
  if (!narrow.terms.length) {
    await post("/mark_all_as_read");
    return;
  }
  const unread = { operator: "is", operand: "unread" };
  await changeNarrow(narrow, "add", "oldest", [...narrow.terms.map((term) => ({ ...term })), unread]);
}

/** The narrow in which nothing is marked as read until the user leaves it: something was marked as unread there. */
let held: string | undefined;

export function isHeld(key: string): boolean {
  return held === key;
}

export function releaseHold(key: string): void {
  if (held === key) held = undefined;
}

/**
 * Mark a message and those after it in a narrow as unread.
 *
 * Returns the ids of channels that stay read, because the user is not subscribed to them.
 */
export async function markUnreadFrom(narrow: Narrow, key: string, id: number): Promise<number[]> {
  held = key;
  for (const each of [...waiting]) if (each >= id) waiting.delete(each);
  return changeNarrow(narrow, "remove", id);
}
