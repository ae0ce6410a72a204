import type { Dialog } from "../router";

/** The dialog of an address such as `#settings/profile`. */
export function DialogOf(_: { dialog: Dialog; path: string[] }) {
  return null;
}
