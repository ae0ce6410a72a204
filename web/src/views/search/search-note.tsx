import type { Narrow } from "../../model/narrow";
import { i18n } from "../../i18n";
import { aboutUnknown } from "./query";

/** Beside the results: what of the search was not understood as it may have been meant. */
export function SearchNote({ narrow }: { narrow: Narrow }) {
  const words = narrow.terms.find((term) => term.operator === "search")?.operand;
  const said = words === undefined ? undefined : aboutUnknown(String(words));
  if (!said) return null;
  return (
    <p class="search-note" role="status">
      {said} {i18n.t("Write it in quotes if the text is meant.")}
    </p>
  );
}
