/** Times and days as people read them, by the person's settings and language. */

import { state } from "../app";
import { i18n } from "../i18n";

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${i18n.locale}${JSON.stringify(options)}`;
  let found = formats.get(key);
  if (!found) formats.set(key, (found = new Intl.DateTimeFormat(i18n.locale, options)));
  return found;
}

function clock(): Intl.DateTimeFormatOptions {
  const is24 = state().settings.twenty_four_hour_time;
  const hours: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit" };
  return typeof is24 === "boolean" ? { ...hours, hourCycle: is24 ? "h23" : "h12" } : hours;
}

/** Return the time of day of a Unix time in seconds. */
export function timeOfDay(seconds: number): string {
  return format(clock()).format(seconds * 1000);
}

/** Return date and time in full, with the zone. */
export function fullTime(seconds: number): string {
  const date: Intl.DateTimeFormatOptions = { weekday: "long", year: "numeric", month: "long", day: "numeric" };
  return format({ ...date, ...clock(), timeZoneName: "short" }).format(seconds * 1000);
}

/** Return date and time, short. */
export function shortTime(seconds: number): string {
  return format({ year: "numeric", month: "short", day: "numeric", ...clock() }).format(seconds * 1000);
}

/** Return text that is the same for all times of a day. */
export function dayKey(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`;
}

/** Return the name of a day: today, yesterday, or its date. */
export function dayName(seconds: number, now: number = Date.now()): string {
  const key = dayKey(seconds);
  if (key === dayKey(now / 1000)) return i18n.t("Today");
  if (key === dayKey(now / 1000 - 86_400)) return i18n.t("Yesterday");
  const isThisYear = new Date(seconds * 1000).getFullYear() === new Date(now).getFullYear();
  const date: Intl.DateTimeFormatOptions = { weekday: "long", month: "long", day: "numeric" };
  return format(isThisYear ? date : { ...date, year: "numeric" }).format(seconds * 1000);
}

/** Return an amount of time in words: "3 hours". */
export function amount(count: number, unit: "minute" | "hour" | "day" | "week" | "year"): string {
  return new Intl.NumberFormat(i18n.locale, { style: "unit", unit, unitDisplay: "long" }).format(count);
}
