/** The direction of a text. */

const LETTER = /\p{L}/u;
/** Letters of Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and other scripts that run from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Return the direction that the first letter of a text gives it, as `dir=auto` does. */
export function directionOf(text: string): "ltr" | "rtl" {
  const first = LETTER.exec(text)?.[0];
  return first !== undefined && RIGHT_TO_LEFT.test(first) ? "rtl" : "ltr";
}
