/** Moments to send later at, and how they are written. */

import { i18n } from "../../i18n";
import { nearTime } from "../../ui/time";

export interface Moment {
  label: string;
  at: Date;
}

function day(from: Date, days: number, hour: number): Date {
  return new Date(from.getFullYear(), from.getMonth(), from.getDate() + days, hour);
}

/** Return moments that make sense now: none in the past, none twice. */
export function momentsFrom(now: Date): Moment[] {
  const minutesOn = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
  const moments: Moment[] = [
    { label: i18n.t("In 20 minutes"), at: minutesOn(20) },
    { label: i18n.t("In one hour"), at: minutesOn(60) },
    { label: i18n.t("In three hours"), at: minutesOn(180) },
  ];
  if (now.getHours() < 6) moments.push({ label: i18n.t("This morning"), at: day(now, 0, 9) });
  if (now.getHours() < 12) moments.push({ label: i18n.t("This afternoon"), at: day(now, 0, 14) });
  if (now.getHours() < 16) moments.push({ label: i18n.t("This evening"), at: day(now, 0, 18) });
  moments.push({ label: i18n.t("Tomorrow morning"), at: day(now, 1, 9) });
  moments.push({ label: i18n.t("Tomorrow afternoon"), at: day(now, 1, 14) });
  // Monday is not tomorrow: on Sundays that is the one of the week after.
  const untilMonday = (8 - now.getDay()) % 7 || 7;
  if (untilMonday > 1) moments.push({ label: i18n.t("Monday morning"), at: day(now, untilMonday, 9) });
  return moments;
}

/** Return the value for `<input type="datetime-local">`, in the user's time zone. */
export function localValue(date: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Return a moment for people: "Fri, 27 Nov, 16:00". */
export function shownMoment(date: Date): string {
  return nearTime(date.getTime() / 1000);
}
