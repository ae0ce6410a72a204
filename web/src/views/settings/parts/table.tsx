import type { ComponentChild, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { i18n } from "../../../i18n";
import { foldText } from "../../../model/counts";

const PAGE = 100;

interface FilteredListProps<Item> {
  /** The accessible name of the list. */
  name: string;
  items: readonly Item[];
  keyOf: (item: Item) => string | number;
  /** Texts among which the filter looks. */
  textOf: (item: Item) => string;
  row: (item: Item) => ComponentChild;
  empty: string;
  /** Beside the filter. */
  children?: ComponentChildren;
}

/** Rows with a filter, some at a time. */
export function FilteredList<Item>({ name, items, keyOf, textOf, row, empty, children }: FilteredListProps<Item>) {
  const [text, setText] = useState("");
  const [shown, setShown] = useState(PAGE);
  const wanted = foldText(text.trim());
  const found = wanted ? items.filter((item) => foldText(textOf(item)).includes(wanted)) : items;
  return (
    <div class="filtered-list">
      <div class="list-tools">
        <input
          type="search"
          aria-label={i18n.t("Filter: {name}", { name })}
          placeholder={i18n.t("Filter")}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setShown(PAGE);
          }}
        />
        {children}
      </div>
      <ul class="item-list" aria-label={name}>
        {found.slice(0, shown).map((item) => (
          <li key={keyOf(item)}>{row(item)}</li>
        ))}
      </ul>
      {found.length > shown ? (
        <button type="button" class="small" onClick={() => setShown(shown + PAGE)}>
          {i18n.t("Show more ({hidden} hidden)", { hidden: found.length - shown })}
        </button>
      ) : null}
      {found.length ? null : <p class="faded list-empty">{wanted ? i18n.t("Nothing fits the filter") : empty}</p>}
    </div>
  );
}
