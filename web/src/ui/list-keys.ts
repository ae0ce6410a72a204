/** Arrow keys, `j` and `k` between the rows of a view that is a list. */

const ROWS = ".list-view .rows > li";

/** Move the focus to the link of the next row, or of the one before. */
export function moveInList(key: string): void {
  const step = key === "j" || key === "ArrowDown" ? 1 : -1;
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)];
  const now = rows.findIndex((each) => each.contains(document.activeElement));
  const first = step > 0 ? 0 : rows.length - 1;
  const next = now < 0 ? first : Math.min(Math.max(now + step, 0), rows.length - 1);
  // The last link of a row is the one of the conversation.
  const link = [...(rows[next]?.querySelectorAll<HTMLElement>("a[href]") ?? [])].at(-1);
  link?.focus({ preventScroll: true });
  link?.scrollIntoView({ block: "nearest" });
}
