/** Times for `<time:...>`, which each reader sees in their own zone. */

import { i18n } from "../../i18n";
import { nearTime } from "../../ui/time";

export interface TimeChoice {
  label: string;
  detail: string;
  text: string;
}

/** Return a time with its offset: `2026-11-27T16:00:00+01:00`. */
export function isoWithOffset(date: Date): string {
  const two = (value: number) => String(Math.abs(value)).padStart(2, "0");
  const offset = -date.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.trunc(offset / 60))}:${two(offset % 60)}`;
  const day = `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:00${zone}`;
}

function shown(date: Date): string {
  return nearTime(date.getTime() / 1000);
}

function at(day: Date, hour: number, minute = 0): Date {
  return new Date(day.getFullYear(), day.getMonth(), day.getDate(), hour, minute);
}

/** Return the time that is typed (`14:30`, `tomorrow 9`, `2026-12-01 10:00`), in the user's time zone. */
export function parseTime(typed: string, now: Date): Date | undefined {
  const text = typed.trim().toLowerCase();
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[t ]+(\d{1,2})(?::(\d{2}))?)?/.exec(text);
  if (iso) {
    const date = new Date(Number(iso[1]), Number(iso[2]) - 1, Number(iso[3]), Number(iso[4] ?? 9), Number(iso[5] ?? 0));
    return Number.isNaN(date.getTime()) ? undefined : date;
  }
  const found = /^(?:(today|tomorrow)\s*)?(\d{1,2})(?::(\d{2}))?\s*(am|pm)?$/.exec(text);
  if (!found) return undefined;
  let hour = Number(found[2]);
  const minute = Number(found[3] ?? 0);
  if (found[4] === "pm" && hour < 12) hour += 12;
  if (found[4] === "am" && hour === 12) hour = 0;
  if (hour > 23 || minute > 59) return undefined;
  const day = new Date(now);
  if (found[1] === "tomorrow") day.setDate(day.getDate() + 1);
  const date = at(day, hour, minute);
  if (!found[1] && date < now) date.setDate(date.getDate() + 1);
  return date;
}

/** Return times to choose from: the one that is typed, or some that are near. */
export function timeChoices(query: string, now = new Date()): TimeChoice[] {
  const typed = parseTime(query, now);
  const tomorrow = new Date(now);
  tomorrow.setDate(tomorrow.getDate() + 1);
  const nextHour = at(now, now.getHours() + 1);
  const choices: [string, Date][] = typed
    ? [[i18n.t("This time"), typed]]
    : [
        [i18n.t("Now"), new Date(Math.round(now.getTime() / 60_000) * 60_000)],
        [i18n.t("Next full hour"), nextHour],
        [i18n.t("Tomorrow morning"), at(tomorrow, 9)],
        [i18n.t("Tomorrow afternoon"), at(tomorrow, 14)],
      ];
  return choices.map(([label, date]) => ({ label, detail: shown(date), text: `<time:${isoWithOffset(date)}>` }));
}
