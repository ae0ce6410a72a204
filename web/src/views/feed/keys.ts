/** Keys of the feed: between messages, and actions on the one that has the focus. */

import { state } from "../../app";
import { KEYS } from "./actions";
import type { Scroller } from "./scroller";

/** What keys do beyond the messages that are in the page. */
export interface FeedMoves {
  toNewest(): Promise<void>;
  toOldest(): Promise<void>;
  loadBack(): void;
  loadOn(): void;
}

/** Whether keys are meant for something else: a text field, a menu, a dialog. */
function isElsewhere(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  if (document.querySelector("dialog[open], .popover")) return true;
  const target = event.target as HTMLElement;
  if (target.closest("input, textarea, select, [contenteditable], [role=menu], [role=listbox], [role=tablist], [role=slider]")) return true;
  return target !== document.body && !target.closest("main");
}

/** Handle keys until the function returned is called. */
export function followKeys(scroller: Scroller, moves: FeedMoves): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isElsewhere(event) && handle(scroller, moves, event)) event.preventDefault();
  };
  document.addEventListener("keydown", onKeyDown);
  return () => document.removeEventListener("keydown", onKeyDown);
}

function handle(scroller: Scroller, moves: FeedMoves, event: KeyboardEvent): boolean {
  switch (event.key) {
    case "j":
    case "ArrowDown":
      if (!move(scroller, 1)) moves.loadOn();
      return true;
    case "k":
    case "ArrowUp":
      if (!move(scroller, -1)) moves.loadBack();
      return true;
    case "PageDown":
      return page(scroller, 1);
    case "PageUp":
      return page(scroller, -1);
    case " ":
      return !isOnControl(event) && page(scroller, event.shiftKey ? -1 : 1);
    case "End":
    case "G":
      void moves.toNewest();
      return true;
    case "Home":
      void moves.toOldest();
      return true;
    default:
      return act(scroller, event);
  }
}

function isOnControl(event: KeyboardEvent): boolean {
  return (event.target as HTMLElement).closest("button, a, summary, video, audio, [role=button]") !== null;
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

function page(scroller: Scroller, by: 1 | -1): boolean {
  scroller.scrollBy(by);
  const seen = scroller.seen();
  const id = by > 0 ? seen.at(-1) : seen[0];
  if (id !== undefined) scroller.article(id)?.focus({ preventScroll: true });
  return true;
}

function act(scroller: Scroller, event: KeyboardEvent): boolean {
  const action = KEYS[event.key];
  const article = focused(scroller);
  if (!action || !article || (event.key === "Enter" && isOnControl(event))) return false;
  const message = state().messages.get(Number(article.dataset.messageId));
  if (!message) return false;
  action(message, article);
  return true;
}
