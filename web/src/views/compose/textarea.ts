/** The textarea of the compose box, for all that writes into it. */

import { applied, type Edit } from "./formatting";
import { content, write } from "./composition";

let area: HTMLTextAreaElement | null = null;

export function setTextarea(element: HTMLTextAreaElement | null): void {
  area = element;
}

export function textarea(): HTMLTextAreaElement | null {
  return area;
}

/** Return text and selection, whether the box is shown or not. */
export function selection(): { text: string; start: number; end: number } {
  const text = content.peek();
  if (!area) return { text, start: text.length, end: text.length };
  return { text: area.value, start: area.selectionStart, end: area.selectionEnd };
}

/** Carry out an edit, in a way that the browser's undo takes back. */
export function apply(edit: Edit): void {
  const element = area;
  if (!element) {
    write(applied(content.peek(), edit));
    return;
  }
  element.focus();
  element.setSelectionRange(edit.from, edit.to);
  const expected = applied(element.value, edit);
  // The command is the only way of changing a text that keeps the history of undo.
  const done = edit.insert
    ? document.execCommand("insertText", false, edit.insert)
    : edit.from === edit.to || document.execCommand("delete");
  if (!done || element.value !== expected) {
    element.value = expected;
    write(expected);
  }
  element.setSelectionRange(edit.start, edit.end);
}

/** Replace a part of the text by another, wherever it stands now: what was uploaded has an address. */
export function replaceText(wanted: string, by: string): boolean {
  const text = content.peek();
  const from = text.indexOf(wanted);
  if (from < 0) return false;
  const shift = (at: number) => (at <= from ? at : at >= from + wanted.length ? at + by.length - wanted.length : from + by.length);
  const [start, end] = area ? [shift(area.selectionStart), shift(area.selectionEnd)] : [0, 0];
  const changed = text.slice(0, from) + by + text.slice(from + wanted.length);
  write(changed);
  if (area) {
    area.value = changed;
    area.setSelectionRange(start, end);
  }
  return true;
}
