/** Days as the search box has them: `2026-11-20`, in the zone of the browser. */

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;

/** Return when a day begins, in milliseconds; undefined if the text is no day. */
export function dayStart(text: string): number | undefined {
  const [, year, month, day] = DAY.exec(text) ?? [];
  if (year === undefined) return undefined;
  const start = new Date(Number(year), Number(month) - 1, Number(day));
  return isoDay(start.getTime()) === text ? start.getTime() : undefined;
}

/** Return the text of the day of a time in milliseconds. */
export function isoDay(at: number): string {
  const date = new Date(at);
  const parts = [date.getMonth() + 1, date.getDate()].map((each) => String(each).padStart(2, "0"));
  return [String(date.getFullYear()).padStart(4, "0"), ...parts].join("-");
}

/** Return days to choose from that begin with a text: near ones, or the one that it is. */
export function daysFor(text: string, now: number): string[] {
  const day = (back: number) => {
    const date = new Date(now);
    return isoDay(new Date(date.getFullYear(), date.getMonth(), date.getDate() - back).getTime());
  };
  const near = [0, 1, 7, 30, 365].map(day).filter((each) => each.startsWith(text));
  return dayStart(text) === undefined || near.includes(text) ? near : [text];
}
