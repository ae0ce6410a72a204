/**
 * The artwork of emoji, as the user has chosen it.
 *
 * Sets are fonts: emoji stay text, which is copied and read out as such. A font comes in parts,
 * each fetched when the page first shows an emoji of it; browsers that cannot draw it, and pages
 * that cannot fetch it, show the system's emoji.
 */

import { state } from "../app";

type EmojiSet = "google" | "twitter" | "text";

const FONTS: Record<Exclude<EmojiSet, "text">, () => Promise<unknown>> = {
  google: () => import("@infolektuell/noto-color-emoji/index.css"),
  twitter: () => import("twemoji-colr-font/twemoji.css"),
};

/** Return the set that is used: the older artwork of Google is not shipped, the present one takes its place. */
function chosenSet(): EmojiSet {
  const { emojiset } = state().settings;
  return emojiset === "twitter" || emojiset === "text" ? emojiset : "google";
}

/** Whether emoji are shown by their names. Read it in a component after `watch("settings")`. */
export function showsEmojiAsText(): boolean {
  return chosenSet() === "text";
}

/** Use the chosen set. Its styles are fetched when the page has nothing better to do. */
export function applyEmojiSet(): void {
  const chosen = chosenSet();
  const { dataset } = document.documentElement;
  if (dataset.emojiset === chosen) return;
  dataset.emojiset = chosen;
  if (chosen === "text") return;
  const whenIdle = globalThis.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 200));
  whenIdle(() => void FONTS[chosen]().catch(() => undefined));
}
