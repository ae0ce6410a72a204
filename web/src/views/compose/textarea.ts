/** Textareas in which Markdown is written, for all that writes into them. */

import type { RefObject } from "preact";
import { applied, type Edit } from "./formatting";

/** What a text belongs to: the compose box, or a message that is being edited. */
export interface TextHolder {
  read(): string;
  write(text: string): void;
  /** Say why an action on the text has failed. */
  report(problem: string): void;
  /** Replace a part of a text that was put away since: an upload ends after that. */
  replaceKept?(wanted: string, by: string): void;
}

export interface Selected {
  text: string;
  start: number;
  end: number;
}

/** A text, and the textarea that shows it while there is one. */
export class TextBox {
  constructor(
    readonly area: RefObject<HTMLTextAreaElement | null>,
    readonly holder: TextHolder,
  ) {}

  get element(): HTMLTextAreaElement | null {
    return this.area.current;
  }

  /** Return text and selection, whether the box is shown or not. */
  selection(): Selected {
    const { element } = this;
    if (element) return { text: element.value, start: element.selectionStart, end: element.selectionEnd };
    const text = this.holder.read();
    return { text, start: text.length, end: text.length };
  }

  /** Carry out an edit, in a way that the browser's undo takes back. */
  apply(edit: Edit): void {
    const { element, holder } = this;
    if (!element) {
      holder.write(applied(holder.read(), edit));
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
      holder.write(expected);
    }
    element.setSelectionRange(edit.start, edit.end);
  }

  /** Replace a part of the text by another, wherever it stands now. Returns whether it was found. */
  replace(wanted: string, by: string): boolean {
    const { element, holder } = this;
    const text = holder.read();
    const from = text.indexOf(wanted);
    if (from < 0) return false;
    const shift = (at: number) => (at <= from ? at : at >= from + wanted.length ? at + by.length - wanted.length : from + by.length);
    const [start, end] = element ? [shift(element.selectionStart), shift(element.selectionEnd)] : [0, 0];
    const changed = text.slice(0, from) + by + text.slice(from + wanted.length);
    holder.write(changed);
    if (element) {
      element.value = changed;
      element.setSelectionRange(start, end);
    }
    return true;
  }
}
