/** Keys of the feed: between messages, and actions on the one that has the focus. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { actOf, type Shortcut } from "../../ui/shortcuts";
import { MESSAGE_KEYS } from "./actions";
import type { Scroller } from "./scroller";

/** What keys do beyond the messages that are in the page. */
export interface FeedMoves {
  toNewest(): Promise<void>;
  toOldest(): Promise<void>;
  loadBack(): void;
  loadOn(): void;
}

type FeedAct = (scroller: Scroller, moves: FeedMoves, event: KeyboardEvent) => unknown;

/** The keys between messages. What returns false has left the key to the browser. */
export const FEED_KEYS: readonly Shortcut<FeedAct>[] = [
  { keys: ["j", "ArrowDown"], name: () => i18n.t("Next message"), act: (scroller, moves) => move(scroller, 1) || moves.loadOn() },
  { keys: ["k", "ArrowUp"], name: () => i18n.t("Previous message"), act: (scroller, moves) => move(scroller, -1) || moves.loadBack() },
  { keys: ["PageDown"], name: () => i18n.t("A page down"), act: (scroller) => page(scroller, 1) },
  { keys: ["PageUp"], name: () => i18n.t("A page up"), act: (scroller) => page(scroller, -1) },
  {
    keys: [" "],
    name: () => i18n.t("A page down, with Shift up"),
    act: (scroller, _moves, event) => !isOnControl(event) && page(scroller, event.shiftKey ? -1 : 1),
  },
  { keys: ["End", "G"], name: () => i18n.t("Newest message"), act: (scroller, moves) => void moves.toNewest().then(() => focusAt(scroller, -1)) },
  { keys: ["Home"], name: () => i18n.t("Oldest message"), act: (scroller, moves) => void moves.toOldest().then(() => focusAt(scroller, 0)) },
];

/** Whether keys are meant for something else: a text field, a menu, a dialog. */
function isElsewhere(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  if (document.querySelector("dialog[open], .popover")) return true;
  const target = event.target as HTMLElement;
  if (target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], [role=menu], [role=listbox], [role=tablist], [role=slider]")) return true;
  // Characters mean nothing to the links on the sides; they scroll, and are pressed, by other keys.
  const isCharacter = event.key.length === 1 && event.key !== " ";
  return !isCharacter && target !== document.body && !target.closest("main");
}

/** Handle keys until the function returned is called. */
export function followKeys(scroller: Scroller, moves: FeedMoves): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    if (isElsewhere(event)) return;
    const act = actOf(FEED_KEYS, event.key);
    if ((act ? act(scroller, moves, event) : actOnMessage(scroller, event)) !== false) event.preventDefault();
  };
  document.addEventListener("keydown", onKeyDown);
  return () => document.removeEventListener("keydown", onKeyDown);
}

function isOnControl(event: KeyboardEvent): boolean {
  return (event.target as HTMLElement).closest("button, a, input, summary, video, audio, [role=button]") !== null;
}

function focused(scroller: Scroller): HTMLElement | undefined {
  const article = document.activeElement?.closest<HTMLElement>("[data-message-id]");
  return article && scroller.element.contains(article) ? article : undefined;
}

/** Focus the next or the previous message; false at the end of those in the page. */
function move(scroller: Scroller, by: 1 | -1): boolean {
  const { articles } = scroller;
  if (!articles.length) return false;
  const now = focused(scroller);
  const seen = scroller.seen();
  const start = by > 0 ? seen[0] : seen.at(-1);
  const index = now ? articles.indexOf(now) + by : articles.findIndex((each) => Number(each.dataset.messageId) === start);
  const next = articles[index];
  if (!next) return false;
  next.focus({ preventScroll: true });
  scroller.reveal(next);
  return true;
}

/** Focus the first or the last message, when it is in the page. */
function focusAt(scroller: Scroller, index: 0 | -1): void {
  requestAnimationFrame(() => scroller.articles.at(index)?.focus({ preventScroll: true }));
}

function page(scroller: Scroller, by: 1 | -1): void {
  scroller.scrollBy(by);
  const seen = scroller.seen();
  const id = by > 0 ? seen.at(-1) : seen[0];
  if (id !== undefined) scroller.article(id)?.focus({ preventScroll: true });
}

function actOnMessage(scroller: Scroller, event: KeyboardEvent): boolean {
  const action = actOf(MESSAGE_KEYS, event.key);
  const article = focused(scroller);
  if (!action || !article || !state().userId || (event.key === "Enter" && isOnControl(event))) return false;
  const message = state().messages.get(Number(article.dataset.messageId));
  if (!message) return false;
  action(message, article);
  return true;
}
