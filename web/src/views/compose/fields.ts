/** The fields of the compose box, for the focus. */

import { createRef } from "preact";
import type { Field } from "./target";

export const fields = {
  Channel: createRef<HTMLInputElement>(),
  Topic: createRef<HTMLInputElement>(),
  People: createRef<HTMLInputElement>(),
  Message: createRef<HTMLTextAreaElement>(),
};

/** Move the focus to a field, if it is there. */
export function focusField(field: Field): void {
  const element = fields[field].current;
  if (!element) {
    // Where nothing can be written, it is said why.
    document.querySelector<HTMLElement>(".compose-refused")?.focus();
    return;
  }
  element.focus();
  if (element instanceof HTMLTextAreaElement) {
    const end = element.value.length;
    if (element.selectionStart === 0 && element.selectionEnd === 0) element.setSelectionRange(end, end);
  } else element.select();
}
