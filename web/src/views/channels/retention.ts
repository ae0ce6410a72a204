import { i18n } from "../../i18n";
import type { Confirmation } from "../../ui/dialog";

/** Return what to ask before messages are kept for so many days; undefined where none are deleted. */
export function deletionOf(days: unknown): Confirmation | undefined {
  if (typeof days !== "number") return undefined;
  return {
    title: i18n.t("Delete older messages?"),
    text: i18n.t("{days, plural, one {Messages older than # day are deleted soon, with their files. This cannot be undone.} other {Messages older than # days are deleted soon, with their files. This cannot be undone.}}", { days }),
    action: i18n.t("Delete"),
    isDangerous: true,
  };
}
