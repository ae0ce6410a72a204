/** A list of completions below or above a field, which keeps the focus. */

import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { i18n } from "../i18n";
import { placeBox } from "./popover";

export interface Completion {
  key: string;
  label: string;
  /** Said and shown after the label: an email address, a description. */
  detail?: string;
  picture?: ComponentChildren;
}

export interface CompletionsProps<Item extends Completion> {
  id: string;
  label: string;
  items: readonly Item[];
  active: number;
  hint?: string;
  /** What the list floats beside, above all else; without it styles place the list. */
  anchor?: RefObject<HTMLElement | null>;
  onPick: (item: Item) => void;
  onActive: (index: number) => void;
}

/** Return the id of an option, for `aria-activedescendant`. */
export function optionId(listId: string, index: number): string {
  return `${listId}-${index}`;
}

/** Return the index after a key in a list; undefined if the key does not move in it. */
export function moved(key: string, active: number, count: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return (active + 1) % count;
    case "ArrowUp":
      return (active - 1 + count) % count;
    case "PageDown":
      return Math.min(active + 5, count - 1);
    case "PageUp":
      return Math.max(active - 5, 0);
    default:
      return undefined;
  }
}

export function Completions<Item extends Completion>({ id, label, items, active, hint, anchor, onPick, onActive }: CompletionsProps<Item>) {
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  useFloating(box, anchor, items);
  useLayoutEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active, items]);
  return (
    <div class="completions" ref={box}>
      <ul
        ref={list}
        id={id}
        role="listbox"
        aria-label={label}
        // The field keeps the focus, and with it the caret.
        onMouseDown={(event) => event.preventDefault()}
      >
        {items.map((item, index) => (
          <li
            key={item.key}
            id={optionId(id, index)}
            role="option"
            aria-selected={index === active}
            onMouseMove={() => index === active || onActive(index)}
            onClick={() => onPick(item)}
          >
            {item.picture}
            <span class="completion-label">{item.label}</span>
            {item.detail ? <span class="completion-detail">{item.detail}</span> : null}
          </li>
        ))}
      </ul>
      {hint ? <p class="completions-hint" aria-hidden="true">{hint}</p> : null}
    </div>
  );
}

/** Show a box in the top layer, beside its anchor also while that is scrolled. */
function useFloating(box: RefObject<HTMLElement | null>, anchor: RefObject<HTMLElement | null> | undefined, content: unknown): void {
  const place = () => box.current && anchor?.current && placeBox(box.current, anchor.current);
  useLayoutEffect(() => {
    const element = box.current;
    if (!anchor || !element?.showPopover) return undefined;
    element.popover = "manual";
    element.showPopover();
    addEventListener("scroll", place, { capture: true, passive: true });
    addEventListener("resize", place);
    return () => {
      removeEventListener("scroll", place, { capture: true });
      removeEventListener("resize", place);
    };
  }, []);
  useLayoutEffect(() => void place(), [content]);
}

/** Say which completion is chosen, to those who do not see the list. */
export function CompletionsStatus({ items, active }: { items: readonly Completion[]; active: number }) {
  const chosen = items[active];
  return (
    <div class="visually-hidden" aria-live="polite">
      {chosen
        ? i18n.t("{label}, {position} of {count} suggestions", { label: chosen.label, position: active + 1, count: items.length })
        : null}
    </div>
  );
}
