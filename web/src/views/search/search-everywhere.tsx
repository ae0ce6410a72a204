import { i18n } from "../../i18n";
import type { Narrow } from "../../model/narrow";
import { addressOf } from "../../router";

const PLACES = new Set(["channel", "channels", "topic", "dm", "dm-including"]);

/** A link to the same search without the place that it is limited to, if it is. */
export function SearchEverywhere({ narrow }: { narrow: Narrow }) {
  const terms = narrow.terms.filter((term) => term.negated || !PLACES.has(term.operator));
  if (terms.length === narrow.terms.length || !terms.some((term) => term.operator === "search")) return null;
  return (
    <p>
      <a href={addressOf({ terms })}>{i18n.t("Search everywhere")}</a>
    </p>
  );
}
