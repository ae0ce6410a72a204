/**
 * Skin tones. The protocol names no emoji with a tone, so that one is written as its characters, which
 * every client shows; reactions have none.
 */

import { signal } from "@preact/signals";
import { storageOf } from "../sync/tab-id";

const KEY = "parley.emoji.tone";
/** Modifiers by code point in hexadecimal; the first is none. */
export const TONES = ["", "1f3fb", "1f3fc", "1f3fd", "1f3fe", "1f3ff"] as const;
export type Tone = (typeof TONES)[number];

const BASE = /^\p{Emoji_Modifier_Base}$/u;
/** Takes a modifier by Unicode's data, but no font has it in a tone. */
const FAMILY = "👪";
const JOINER = "\u200d";
const STYLE = "\ufe0f";
const storage = storageOf("localStorage");

/** The tone that was chosen last in this browser. */
export const tone = signal<Tone>(remembered());

function remembered(): Tone {
  try {
    return TONES.find((each) => each === storage?.getItem(KEY)) ?? "";
  } catch {
    return "";
  }
}

export function chooseTone(chosen: Tone): void {
  tone.value = chosen;
  try {
    storage?.setItem(KEY, chosen);
  } catch {
    // Full or refused: it is kept as long as the page.
  }
}

/** Return an emoji's characters in a tone; undefined for those that have none, or show several people. */
export function toned(glyph: string | undefined, chosen: Tone): string | undefined {
  if (!glyph || !chosen) return undefined;
  const [first, ...rest] = Array.from(glyph);
  if (first === FAMILY || !BASE.test(first!) || rest.some((each) => BASE.test(each))) return undefined;
  const modifier = String.fromCodePoint(Number.parseInt(chosen, 16));
  // The tone stands for the style of the one before it.
  const others = rest[0] === STYLE ? rest.slice(1) : rest;
  if (others.length && others[0] !== JOINER) return undefined;
  return [first, modifier, ...others].join("");
}
