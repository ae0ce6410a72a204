/** What is being written: the text, and the draft in which it is kept. */

import { batch, signal } from "@preact/signals";
import type { EventOf, ServerEvent } from "../../model/events";
import { type LocalDraft, discard, draftFor, isSynced, onOtherTab, save, serverIdOf, targetOfDraft } from "./drafts";
import { withoutStalePlaceholders } from "./upload-list";
import { hasText, isRetargeted, isSame, open, type Target, target, targetKey } from "./target";

export const content = signal("");

let current: Target | undefined;
let draftKey = newKey();
/** Whether the text was changed in this tab since it was shown. */
let isEdited = false;
let saving: ReturnType<typeof setTimeout> | undefined;

const SAVE_AFTER_MS = 300;

/** Return an id that needs no secure context. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Change the text. It is kept in the browser shortly after. */
export function write(text: string): void {
  isEdited = true;
  batch(() => {
    content.value = text;
    hasText.value = text.trim() !== "";
  });
  clearTimeout(saving);
  saving = setTimeout(saveNow, SAVE_AFTER_MS);
}

/** Keep the text at once: the page is left, or another conversation shown. */
export function saveNow(): void {
  clearTimeout(saving);
  if (current) save(draftKey, current, content.peek());
}

/**
 * Turn to another target: what was written is kept, and what was written there before is shown.
 *
 * Returns whether it is another conversation, and not the same text to others.
 */
export function follow(to: Target | undefined): boolean {
  if (to === current) return false;
  if (isRetargeted(to) && current) {
    current = to;
    write(content.peek());
    return false;
  }
  if (to && current && targetKey(to) === targetKey(current)) {
    current = to;
    return false;
  }
  saveNow();
  current = to;
  show(to ? draftFor(to) : undefined);
  return true;
}

// Two tabs may have the same draft in their boxes. One that has not changed it shows what the other
// has written; one that has keeps its text as a draft of its own.
onOtherTab((key, draft) => {
  if (key !== draftKey || (draft?.content ?? "") === content.peek()) return;
  if (!isEdited) {
    show(draft);
    return;
  }
  draftKey = newKey();
  saveNow();
});

/**
 * Follow what another device does to the draft that is shown.
 *
 * A text that was not changed here since is gone when it is sent or deleted there, and shown as it
 * is edited there. One that was changed stays, as a draft of its own.
 */
export function followDrafts(events: readonly ServerEvent[]): void {
  for (const event of events) if (event.type === "drafts") followDraft(event);
}

function followDraft(event: EventOf<"drafts">): void {
  const text = content.peek();
  const isUnchanged = !isEdited || isSynced(draftKey, text);
  if (event.op === "add") {
    if (!current || text.trim() || document.activeElement?.matches("textarea")) return;
    if (event.drafts.some((each) => isSame(targetOfDraft(each), current))) show(draftFor(current));
  } else if (event.op === "remove") {
    if (event.draft_id !== serverIdOf(draftKey)) return;
    if (isUnchanged) show(undefined);
    else {
      draftKey = newKey();
      saveNow();
    }
  } else if (event.draft.id === serverIdOf(draftKey) && isUnchanged && event.draft.content !== text && current) {
    show(draftFor(current));
  }
}

function show(draft: LocalDraft | undefined): void {
  isEdited = false;
  draftKey = draft?.key ?? newKey();
  const text = withoutStalePlaceholders(draft?.content ?? "");
  batch(() => {
    content.value = text;
    hasText.value = text.trim() !== "";
  });
}

/** Go on with a draft. */
export function restore(draft: LocalDraft): void {
  saveNow();
  current = { ...draft.to };
  target.value = current;
  show(draft);
  open(current);
}

/** Return what is written, and begin anew: it is being sent. */
export function take(): string {
  const text = content.peek();
  clearTimeout(saving);
  discard(draftKey);
  show(undefined);
  return text;
}

/** Write on at a text that was not sent: below what is being written to the same people, if anything. */
export function writeOn(to: Target, text: string): void {
  if (target.peek() && current && targetKey(to) === targetKey(current)) {
    const before = content.peek();
    write(before.trim() ? `${before.trimEnd()}\n\n${text}` : text);
  } else {
    saveNow();
    current = { ...to };
    target.value = current;
    show(undefined);
    write(text);
  }
  open(current!);
}
