/** Formats of the compose box, with names, icons and keys. */

import { i18n } from "../../i18n";
import type { IconName } from "../../ui/icons";
import type { Format } from "./formatting";

/** Return the formats in the order of their buttons. Keys are written as `aria-keyshortcuts` has them. */
export function formats(): [Format, IconName, string, string?][] {
  return [
    ["bold", "bold", i18n.t("Bold"), "Control+B"],
    ["italic", "italic", i18n.t("Italic"), "Control+I"],
    ["strike", "strike", i18n.t("Strikethrough")],
    ["link", "link", i18n.t("Link"), "Control+Shift+L"],
    ["bullets", "bullets", i18n.t("Bulleted list")],
    ["numbers", "numbers", i18n.t("Numbered list")],
    ["quote", "quotation", i18n.t("Quotation"), "Control+Shift+Q"],
    ["code", "code", i18n.t("Code"), "Control+Shift+C"],
    ["spoiler", "spoiler", i18n.t("Spoiler")],
    ["math", "math", i18n.t("Formula")],
  ];
}

/** Return the format that keys stand for; undefined if they stand for none. */
export function formatOf({ ctrlKey, metaKey, altKey, shiftKey, key }: KeyboardEvent): Format | undefined {
  if (!(ctrlKey || metaKey) || altKey) return undefined;
  const pressed = `Control+${shiftKey ? "Shift+" : ""}${key.toUpperCase()}`;
  return formats().find(([, , , keys]) => keys === pressed)?.[0];
}
