/** A field for a channel, a topic or people: what is typed counts, with or without a suggestion. */

import type { ComponentChildren, RefObject } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { LimitNote } from "../../ui/limited-text";
import { type Completion, Completions, moved, optionId } from "../../ui/completions";

export interface RecipientFieldProps<Item extends Completion> {
  /** Accessible name. */
  label: string;
  value: string;
  placeholder?: string;
  field?: RefObject<HTMLInputElement | null>;
  isInvalid?: boolean;
  describedBy?: string | undefined;
  readOnly?: boolean;
  /** How long the text may be: more can be typed, and is said to be too much. */
  max?: number;
  lengthOf?: (text: string) => number;
  /** Shown before the text, inside the field. */
  before?: ComponentChildren;
  suggest: (text: string) => readonly Item[];
  onInput: (text: string) => void;
  onPick: (item: Item) => void;
  /** Enter without a suggestion, or the focus leaves. */
  onCommit?: (text: string) => void;
  /** Backspace in an empty field. */
  onErase?: () => void;
  onFocus?: () => void;
  onKeyDown?: (event: KeyboardEvent) => void;
}

export function RecipientField<Item extends Completion>(props: RecipientFieldProps<Item>) {
  const { label, value, suggest } = props;
  const id = useId();
  const listId = `${id}-list`;
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const items = useMemo(() => (isOpen ? suggest(value) : []), [isOpen, value, suggest]);
  const isShown = items.length > 0;
  const chosen = Math.min(active, items.length - 1);
  const pick = (item: Item) => {
    setOpen(false);
    props.onPick(item);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const next = isShown ? moved(event.key, chosen, items.length) : undefined;
    if (next !== undefined) setActive(next);
    else if (!isShown && event.key === "ArrowDown" && !props.readOnly) setOpen(true);
    else if (isShown && event.key === "Escape") setOpen(false);
    else if (isShown && (event.key === "Enter" || (event.key === "Tab" && value && !event.shiftKey))) pick(items[chosen]!);
    else if (event.key === "Enter" && props.onCommit) {
      props.onCommit(value);
      props.onKeyDown?.(event);
    }
    else if (event.key === "Backspace" && !value && props.onErase) props.onErase();
    else return props.onKeyDown?.(event);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="recipient-field">
      {props.before}
      <input
        ref={props.field}
        type="text"
        role="combobox"
        aria-label={label}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={isShown ? listId : undefined}
        aria-activedescendant={isShown ? optionId(listId, chosen) : undefined}
        aria-invalid={props.isInvalid || undefined}
        aria-describedby={[props.describedBy, props.max === undefined ? undefined : `${id}-limit`].filter(Boolean).join(" ") || undefined}
        autocomplete="off"
        spellcheck={false}
        readOnly={props.readOnly}
        placeholder={props.placeholder}
        value={value}
        onInput={(event) => {
          setOpen(true);
          setActive(0);
          props.onInput(event.currentTarget.value);
        }}
        onFocus={() => props.onFocus?.()}
        onClick={() => !props.readOnly && setOpen(true)}
        onBlur={() => {
          setOpen(false);
          props.onCommit?.(value);
        }}
        onKeyDown={onKeyDown}
      />
      {props.max === undefined ? null : <LimitNote id={`${id}-limit`} length={props.lengthOf?.(value) ?? value.length} max={props.max} />}
      {isShown ? (
        <Completions id={listId} label={label} items={items} active={chosen} onPick={pick} onActive={setActive} />
      ) : null}
    </span>
  );
}
