/** Texts that were written in a dialog and not saved. Their forms have the attribute `data-unsaved`. */

import { closeDialog, go, guardPlace } from "../../../router";
import { i18n } from "../../../i18n";
import { confirm } from "../../../ui/dialog";

const hasUnsaved = () => document.querySelector("[data-unsaved]") !== null;

/** Return whether unsaved texts, if there are some, may be discarded: the user is asked. */
async function mayDiscard(): Promise<boolean> {
  return (
    !hasUnsaved() ||
    (await confirm({
      title: i18n.t("Discard your changes?"),
      text: i18n.t("What you have written was not saved."),
      action: i18n.t("Discard"),
      cancel: i18n.t("Keep editing"),
      isDangerous: true,
    }))
  );
}

guardPlace(() => (hasUnsaved() ? mayDiscard() : undefined));

/** Close the dialog of an address unless the user keeps editing. */
export async function closeUnlessEditing(close = closeDialog): Promise<void> {
  if (await mayDiscard()) close();
}

/** Ask before a clicked link within the page discards texts. */
export function guardLinks(event: MouseEvent): void {
  const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !hasUnsaved()) return;
  event.preventDefault();
  void closeUnlessEditing(() => go(link.hash));
}
