import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { state, topics } from "../../app";
import { i18n } from "../../i18n";
import { addressOf, go, ground } from "../../router";
import { Combobox } from "../../ui/combobox";
import { focusMain } from "../../ui/focus";
import { load } from "../../ui/lazy";
import { attempt } from "../../ui/toast";
import { watch } from "../../ui/watch";
import { history, remember } from "./history";
import { narrowOfQuery, queryOf, searchFor } from "./query";
import type { suggestionsFor } from "./suggestions";

/** What is no filter of the protocol's: messages are shown from there on. */
const DATE = /(?:^|\s)date:/;
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
  // What is typed behind a filter is a further term.
  const shown = here.kind === "narrow" ? `${queryOf(here.narrow, state())} `.trimStart() : "";
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
    if (DATE.test(chosen)) {
      void attempt(async () => {
        text.value = await (await load(() => import("./go-to-date"))).goToDate(chosen);
      });
      return;
    }
    const narrow = narrowOfQuery(chosen, state());
    if (narrow.terms.some((term) => term.operator === "search")) remember(chosen);
    // A suggestion may be a part of what is looked for: more can be written after it.
    const isPart = chosen !== query.trim() && query.trim() !== "";
    text.value = isPart ? `${chosen} ` : chosen;
    go(addressOf(narrow));
    if (!isPart) focusMain();
  };
  return (
    <search class="search-box" onFocusIn={prepare} onMouseDown={onMouseDown}>
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

/** Put the caret into the box, behind the filter of a place. */
export function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>(".search-field");
  field?.focus();
  field?.setSelectionRange(field.value.length, field.value.length);
}

/** Focus by the first click, which would put the caret into the filter. */
function onMouseDown(event: MouseEvent): void {
  const { target } = event;
  if (!(target instanceof HTMLInputElement) || target === document.activeElement) return;
  event.preventDefault();
  focusSearch();
}
