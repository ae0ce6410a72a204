/** Times as people read them, in their language and zone. */

import { i18n } from "../i18n";
import { shortDate } from "./time";

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
const A_WEEK_MS = 7 * 86_400_000;

/** Return how long ago it was; the date where it is more than a week. */
export function relativeTime(timeMs: number, nowMs: number): string {
  const passed = Math.max(nowMs - timeMs, 0);
  if (passed > A_WEEK_MS) return shortDate(timeMs / 1000);
  const format = new Intl.RelativeTimeFormat(i18n.locale, { numeric: "auto", style: "short" });
  for (const [unit, size] of UNITS) if (passed >= size) return format.format(-Math.floor(passed / size), unit);
  return format.format(0, "second");
}
