/** Which dialog of the compose box is open: they are loaded when they are first used. */

import { signal } from "@preact/signals";

export type ComposeDialog = "schedule" | "snippets";

export const dialog = signal<ComposeDialog | undefined>(undefined);

export function showDialog(kind: ComposeDialog): void {
  dialog.value = kind;
}

export function hideDialog(): void {
  dialog.value = undefined;
}
