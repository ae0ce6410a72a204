import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { state, topics } from "../../app";
import { i18n } from "../../i18n";
import { addressOf, go, ground } from "../../router";
import { Combobox } from "../../ui/combobox";
import { focusMain } from "../../ui/focus";
import { load } from "../../ui/lazy";
import { watch } from "../../ui/watch";
import { history, remember } from "./history";
import { narrowOfQuery, queryOf, searchFor } from "./query";
import type { suggestionsFor } from "./suggestions";

const text = signal("");
/** What makes suggestions, once it was loaded. */
const suggest = signal<typeof suggestionsFor | undefined>(undefined);

function prepare(): void {
  if (suggest.peek()) return;
  void load(() => import("./suggestions")).then(
    (module) => {
      suggest.value = module.suggestionsFor;
    },
    // Without suggestions, one can search still.
    () => undefined,
  );
}

/** The search box, which shows the search of the present narrow. */
export function SearchBox() {
  // A search names channels and people, which may be known only after it was opened.
  watch("channels", "users");
  const here = ground.value;
  const shown = here.kind === "narrow" ? queryOf(here.narrow, state()) : "";
  useLayoutEffect(() => {
    text.value = shown;
  }, [shown]);
  const query = text.value;
  const known = [...state().channels.values()]
    .filter((each) => each.is_subscribed)
    .flatMap((each) => (query.length > 1 ? (topics.known(each.stream_id) ?? []) : []).map(({ name }) => ({ channelId: each.stream_id, name })));
  const made = suggest.value?.(query, state(), known) ?? searchFor(query);
  const suggestions = query.trim() ? made : [...history().map((past) => ({ text: past, description: i18n.t("Searched before") })), ...made].slice(0, 12);
  const choose = (chosen: string) => {
    const narrow = narrowOfQuery(chosen, state());
    if (narrow.terms.some((term) => term.operator === "search")) remember(chosen);
    text.value = chosen;
    go(addressOf(narrow));
    focusMain();
  };
  return (
    <search class="search-box" onFocusIn={prepare}>
      <Combobox
        name="Search"
        placeholder={i18n.t("Search")}
        inputClass="search-field"
        text={query}
        onText={(changed) => {
          text.value = changed;
        }}
        opensOnFocus
        options={suggestions.map((each) => ({
          key: each.text,
          value: each.text,
          render: (
            <>
              <span class="option-name">{each.text}</span>
              <span class="option-detail">{each.description}</span>
            </>
          ),
        }))}
        onChoose={choose}
        onEscape={() => {
          text.value = shown;
          focusMain();
        }}
      />
    </search>
  );
}

/** Put the caret into the box. */
export function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>(".search-field");
  field?.focus();
  field?.select();
}
