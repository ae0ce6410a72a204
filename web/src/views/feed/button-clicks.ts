/** Clicks on buttons of bots' messages: which ones wait for an answer, and the answers that the user alone is shown. */

import { signal } from "@preact/signals";
import { onBatch } from "../../app";
import { i18n } from "../../i18n";
import type { EventOf } from "../../model/events";
import { userName } from "../../model/names";
import type { Message, State } from "../../model/state";
import { NetworkError, post } from "../../protocol/client";
import type { ShownButton } from "../../protocol/types";
import { randomId } from "../../sync/tab-id";

type Answer = EventOf<"button_click_answer">;

/** What the user sees of their clicks on one message. It is no part of the message, and gone after a reload. */
export interface ClickState {
  /** The button that waits for an answer; undefined if none does. */
  waiting?: string | undefined;
  clickId?: string | undefined;
  answer?: Answer | undefined;
  /** Why the click was not delivered. */
  problem?: string | undefined;
  /** A click of which it is not known whether it was delivered: it is repeated with the same id. */
  repeated?: { buttonId: string; localId: string } | undefined;
}

/** How long an answer is waited for. The server says sooner that there is none, unless clicks of many others come before. */
const PATIENCE_MS = 120_000;
const MAX_KEPT = 100;

/** By the message's id; the newest last. */
export const clicks = signal<ReadonlyMap<number, ClickState>>(new Map());
/** Answers that may have come before the response that names their click. */
const early = new Set<string>();

function change(messageId: number, next: ClickState): void {
  const changed = new Map(clicks.peek());
  changed.delete(messageId);
  if (next.waiting || next.answer || next.problem || next.repeated) changed.set(messageId, next);
  for (const oldest of changed.keys()) {
    if (changed.size <= MAX_KEPT) break;
    changed.delete(oldest);
  }
  clicks.value = changed;
}

onBatch((events) => {
  for (const event of events) {
    if (event.type === "button_click_answer") show(event);
    if (event.type === "delete_message") {
      for (const id of "message_ids" in event ? event.message_ids : [event.message_id]) if (clicks.peek().has(id)) change(id, {});
    }
  }
});

function show(event: Answer): void {
  const before = clicks.peek().get(event.message_id) ?? {};
  const isOurs = before.clickId === event.click_id;
  if (!isOurs && before.waiting && !before.clickId) early.add(event.click_id);
  change(event.message_id, {
    ...before,
    ...(isOurs ? { waiting: undefined, clickId: undefined } : {}),
    // The end of a click without a text leaves an earlier answer to others.
    ...(event.content ? { answer: event } : {}),
  });
}

export function closeAnswer(messageId: number): void {
  change(messageId, { ...clicks.peek().get(messageId), answer: undefined, problem: undefined });
}

/** Deliver a click. Another one on the message is not, as long as this one waits for its answer. */
export async function click(state: State, message: Message, button: ShownButton): Promise<void> {
  const before = clicks.peek().get(message.id);
  if (before?.waiting) return;
  const { repeated } = before ?? {};
  const localId = repeated?.buttonId === button.id ? repeated.localId : randomId(16);
  change(message.id, { waiting: button.id });
  try {
    const { click_id } = await post<{ click_id: string }>(`/messages/${message.id}/buttons/click`, { button_id: button.id, local_id: localId });
    const now = clicks.peek().get(message.id);
    if (early.delete(click_id)) change(message.id, { ...now, waiting: undefined });
    else change(message.id, { ...now, clickId: click_id });
    setTimeout(() => giveUp(state, message, click_id), PATIENCE_MS);
  } catch (error) {
    const isUnknown = error instanceof NetworkError;
    change(message.id, { problem: (error as Error).message, repeated: isUnknown ? { buttonId: button.id, localId } : undefined });
  } finally {
    if (!clicks.peek().get(message.id)?.waiting) early.clear();
  }
}

function giveUp(state: State, message: Message, clickId: string): void {
  const now = clicks.peek().get(message.id);
  if (now?.clickId !== clickId) return;
  const problem = i18n.t("{name} has not answered yet.", { name: userName(state, message.sender_id) });
  change(message.id, { ...now, waiting: undefined, clickId: undefined, problem });
}
