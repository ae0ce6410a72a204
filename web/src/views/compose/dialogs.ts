/** Which dialog of the compose box is open: they are loaded when they are first used. */

import { signal } from "@preact/signals";
import { composeBox } from "./compose-box";

export type ComposeDialog = "schedule" | "snippets";

export const dialog = signal<ComposeDialog | undefined>(undefined);

let before = { start: 0, end: 0 };

export function showDialog(kind: ComposeDialog): void {
  before = composeBox.selection();
  dialog.value = kind;
}

/** Close the dialog: the caret is where it was. Resolves when the box takes input again. */
export function hideDialog(): Promise<void> {
  dialog.value = undefined;
  const { start, end } = before;
  return new Promise((resolve) => {
    // While a modal dialog is there the box is inert, and browsers then forget its selection.
    requestAnimationFrame(() => {
      composeBox.element?.focus();
      composeBox.element?.setSelectionRange(start, end);
      resolve();
    });
  });
}
