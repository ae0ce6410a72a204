/** Messages of a feed that the user has selected, to move or delete them together. */

import { i18n } from "../../i18n";
import { toast } from "../../ui/toast";
import { order, selected } from "./selecting";

/** As many as one request changes. */
export const MAX_SELECTED = 1000;

/** The message at which a range begins. */
let last: number | undefined;

export function isSelected(id: number): boolean {
  return selected.value?.has(id) ?? false;
}

/** Return the ids of the selected messages that the feed still has, in its order. */
export function selectedIds(): number[] {
  const ids = selected.value;
  return ids?.size ? order().filter((id) => ids.has(id)) : [];
}

/** Return the message that was selected or deselected last. */
export function lastSelected(): number | undefined {
  return last;
}

/** Do as `setSelected` does, and say so if that is not possible. */
export function select(id: number, isOn: boolean, isRange = false): void {
  if (setSelected(id, isOn, isRange)) return;
  toast(i18n.t("At most {count, number} messages can be selected.", { count: MAX_SELECTED }), { isProblem: true });
}

/**
 * Select a message, or take it out: with `isRange` all from the last one that was changed.
 *
 * Returns false, with nothing done, if they would be too many.
 */
export function setSelected(id: number, isOn: boolean, isRange = false): boolean {
  const ids = order();
  const [one, other] = [ids.indexOf(last ?? id), ids.indexOf(id)];
  const hasRange = isRange && selected.peek() !== undefined && one >= 0 && other >= 0;
  // Messages on their way have ids below zero.
  const changed = hasRange ? ids.slice(Math.min(one, other), Math.max(one, other) + 1).filter((each) => each > 0) : [id];
  const next = new Set(selectedIds());
  for (const each of changed) {
    if (isOn) next.add(each);
    else next.delete(each);
  }
  if (isOn && next.size > MAX_SELECTED) return false;
  selected.value = next;
  last = id;
  return true;
}

export function endSelecting(): void {
  selected.value = undefined;
}
