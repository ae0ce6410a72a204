/** Days of date fields as moments. */

/** Return the first second of a day, as a Unix time; undefined for an empty field. */
export function beginningOf(day: string): number | undefined {
  return day ? new Date(`${day}T00:00`).getTime() / 1000 : undefined;
}

/** Return the first second after a day, as a Unix time; undefined for an empty field. */
export function endOf(day: string): number | undefined {
  if (!day) return undefined;
  const next = new Date(`${day}T00:00`);
  next.setDate(next.getDate() + 1);
  return next.getTime() / 1000;
}
