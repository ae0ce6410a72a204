/** Which of a feed's messages are in the page: at most MAX_SHOWN, in one stretch. */

import { lowerBound } from "../../model/feeds";

export const MAX_SHOWN = 280;
/** Messages that are added at once when an edge comes near: as many as a frame has time for. */
export const STEP = 20;
/** So many more messages than there is room for make the window jump to the end. */
const MAX_FOLLOWED = 60;
/** The height of a short message, and the height of the page where there is none. */
const ROW_HEIGHT = 30;
const PAGE_HEIGHT = 800;
const MIN_FIRST = 24;

/** Return how many messages fill the page: a feed opens with them, and what is around comes in steps. */
function firstCount(): number {
  return Math.max(MIN_FIRST, Math.ceil((globalThis.innerHeight ?? PAGE_HEIGHT) / ROW_HEIGHT));
}

/** The first and the last message shown. */
export interface Window {
  first: number;
  last: number;
}

/** Return the window around a message, or at the end without one. */
export function windowAt(ids: readonly number[], anchor: number | undefined): Window | undefined {
  if (!ids.length) return undefined;
  const index = anchor === undefined ? ids.length : lowerBound(ids, anchor);
  const count = firstCount();
  // A message that is gone to stands at a quarter of the height.
  const end = Math.min(ids.length, Math.max(index + Math.ceil(count * 0.75), count));
  const start = Math.max(0, Math.min(index - Math.floor(count * 0.25), end - count));
  return { first: ids[start]!, last: ids[end - 1]! };
}

/** Return where the window lies in the ids: `start` inclusive, `end` exclusive. */
export function rangeOf(ids: readonly number[], window: Window): { start: number; end: number } {
  const start = lowerBound(ids, window.first);
  const end = lowerBound(ids, window.last + 1);
  return { start, end: Math.max(start, end) };
}

/** Extend the window towards older messages; newer ones beyond the maximum go. */
export function extendBack(ids: readonly number[], window: Window): Window {
  const { start, end } = rangeOf(ids, window);
  const from = Math.max(0, start - STEP);
  return between(ids, from, Math.min(end, from + MAX_SHOWN)) ?? window;
}

/** Extend the window towards newer messages; older ones beyond the maximum go. */
export function extendOn(ids: readonly number[], window: Window): Window {
  const { start, end } = rangeOf(ids, window);
  const to = Math.min(ids.length, end + STEP);
  return between(ids, Math.max(start, to - MAX_SHOWN), to) ?? window;
}

/** Return whether messages that were added at the end fit into the window without any going. */
export function hasRoom(ids: readonly number[], window: Window): boolean {
  return ids.length - rangeOf(ids, window).start <= MAX_SHOWN;
}

/**
 * Fit the window to ids that have changed: messages arrived, were fetched or are gone.
 *
 * One that reached to the end follows it, if `follows`. One without its messages becomes the nearest.
 */
export function fit(ids: readonly number[], window: Window | undefined, follows: boolean): Window | undefined {
  if (!window || !ids.length) return windowAt(ids, undefined);
  const { start, end } = rangeOf(ids, window);
  if (start === end) return windowAt(ids, window.first);
  const to = follows ? ids.length : end;
  if (to - start > MAX_SHOWN && to - end > MAX_FOLLOWED) return windowAt(ids, undefined);
  return between(ids, Math.max(start, to - MAX_SHOWN), to);
}

function between(ids: readonly number[], start: number, end: number): Window | undefined {
  return end > start ? { first: ids[start]!, last: ids[end - 1]! } : undefined;
}
