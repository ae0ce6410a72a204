import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChild } from "preact";

export interface Option<Value> {
  key: string;
  value: Value;
  render: ComponentChild;
}

interface ComboboxProps<Value> {
  /** The accessible name. */
  name: string;
  placeholder?: string;
  text: string;
  onText: (text: string) => void;
  options: readonly Option<Value>[];
  onChoose: (value: Value) => void;
  onEscape?: () => void;
  /** Whether the options are shown although nothing was written. */
  opensOnFocus?: boolean;
  /** Whether the first option is chosen by Enter without being moved to. */
  choosesFirst?: boolean;
  autoFocus?: boolean;
  inputClass?: string;
}

/** A text field with options below it, as the pattern of ARIA has it: the focus stays in the field. */
export function Combobox<Value>(props: ComboboxProps<Value>) {
  const { name, text, options, onChoose } = props;
  const [isOpen, setOpen] = useState(false);
  const [index, setIndex] = useState(props.choosesFirst ? 0 : -1);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [index]);
  const shown = isOpen && options.length > 0;
  const chosen = Math.min(index, options.length - 1);
  const choose = (option: Option<Value> | undefined) => {
    if (!option) return;
    setOpen(false);
    onChoose(option.value);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (!shown) setOpen(true);
      else setIndex((chosen + step + options.length) % options.length);
    } else if (event.key === "Enter") {
      choose(options[Math.max(chosen, 0)]);
    } else if (event.key === "Escape") {
      if (shown && !props.choosesFirst) setOpen(false);
      else if (props.onEscape) props.onEscape();
      else return;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="combobox">
      <input
        // Dialogs give the focus to it: what is focused before they are shown loses it.
        data-autofocus={props.autoFocus}
        class={props.inputClass}
        type="text"
        role="combobox"
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        aria-label={name}
        aria-autocomplete="list"
        aria-expanded={shown}
        aria-controls={shown ? `${id}-list` : undefined}
        aria-activedescendant={shown && chosen >= 0 ? `${id}-${chosen}` : undefined}
        placeholder={props.placeholder}
        value={text}
        onFocus={() => props.opensOnFocus && setOpen(true)}
        onClick={() => props.opensOnFocus && setOpen(true)}
        onBlur={() => setOpen(false)}
        onInput={(event) => {
          setOpen(true);
          setIndex(props.choosesFirst ? 0 : -1);
          props.onText(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown}
      />
      {shown ? (
        <ul class="options" role="listbox" id={`${id}-list`} aria-label={name} ref={list}>
          {options.map((option, position) => (
            <li
              key={option.key}
              id={`${id}-${position}`}
              role="option"
              aria-selected={position === chosen}
              // The field keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onMouseMove={() => setIndex(position)}
              onClick={() => choose(option)}
            >
              {option.render}
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
