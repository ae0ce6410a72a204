/** Times and days as people read them, by the person's settings and language. */

import { state } from "../app";
import { i18n } from "../i18n";

const formats = new Map<string, Intl.DateTimeFormat>();

/** Return the locale of times: that of the page, in the region of the browser's where it names none. */
function timeLocale(): string {
  const { locale } = i18n;
  if (locale.includes("-")) return locale;
  return navigator.languages?.find((each) => each.startsWith(`${locale}-`)) ?? locale;
}

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const locale = timeLocale();
  const key = `${locale}${JSON.stringify(options)}`;
  let found = formats.get(key);
  if (!found) formats.set(key, (found = new Intl.DateTimeFormat(locale, options)));
  return found;
}

/** Texts of times that were formatted last: formatting takes longer than a message's elements do. */
const texts = new Map<string, string>();
const MAX_TEXTS = 5_000;

function textOf(kind: string, seconds: number, options: () => Intl.DateTimeFormatOptions): string {
  const minutes = Math.floor(seconds / 60);
  const key = `${kind} ${timeLocale()} ${state().settings.twenty_four_hour_time} ${minutes}`;
  let text = texts.get(key);
  if (text === undefined) {
    if (texts.size >= MAX_TEXTS) texts.clear();
    texts.set(key, (text = format(options()).format(minutes * 60_000)));
  }
  return text;
}

/** Twelve or twenty-four hours, as the person has chosen; else as the locale has it. */
function clock(): Intl.DateTimeFormatOptions {
  const is24 = state().settings.twenty_four_hour_time;
  const hours: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit" };
  return typeof is24 === "boolean" ? { ...hours, hourCycle: is24 ? "h23" : "h12" } : hours;
}

/** Return the time of day of a Unix time in seconds. */
export function timeOfDay(seconds: number): string {
  return textOf("time", seconds, clock);
}

/** Return date and time in full, with the zone. */
export function fullTime(seconds: number): string {
  const date: Intl.DateTimeFormatOptions = { weekday: "long", year: "numeric", month: "long", day: "numeric" };
  return textOf("full", seconds, () => ({ ...date, ...clock(), timeZoneName: "short" }));
}

/** Return date and time, short. */
export function shortTime(seconds: number): string {
  return format({ year: "numeric", month: "short", day: "numeric", ...clock() }).format(seconds * 1000);
}

/** Return the time of day in another zone. Throws RangeError for a zone that the browser does not know. */
export function timeOfDayIn(zone: string, seconds: number): string {
  return format({ ...clock(), timeZone: zone }).format(seconds * 1000);
}

/** Return a moment near now: "Fri, 27 Nov, 16:00"; with its year where it is another. */
export function nearTime(seconds: number, now: number = Date.now()): string {
  const isThisYear = new Date(seconds * 1000).getFullYear() === new Date(now).getFullYear();
  const date: Intl.DateTimeFormatOptions = { weekday: "short", day: "numeric", month: "short" };
  return format({ ...date, ...(isThisYear ? {} : { year: "numeric" }), ...clock() }).format(seconds * 1000);
}

/** Return a date without the time of day, of medium length. */
export function shortDate(seconds: number): string {
  return format({ dateStyle: "medium" }).format(seconds * 1000);
}

/** Keys of days by quarters of an hour: no zone's day begins within one. */
const days = new Map<number, string>();

/** Return text that is the same for all times of a day. */
export function dayKey(seconds: number): string {
  const quarter = Math.floor(seconds / 900);
  let key = days.get(quarter);
  if (key === undefined) {
    if (days.size >= MAX_TEXTS) days.clear();
    const date = new Date(quarter * 900_000);
    days.set(quarter, (key = `${date.getFullYear()}-${date.getMonth()}-${date.getDate()}`));
  }
  return key;
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
