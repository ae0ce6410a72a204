/** The textarea of a message, its completions and keys: for a new one, and for one that is edited. */

import { useLayoutEffect } from "preact/hooks";
import { state } from "../../app";
import { Completions, CompletionsStatus, optionId } from "../../ui/completions";
import { watch } from "../../ui/watch";
import { type Completer, useCompleter } from "./completer";
import { formatOf } from "./formats";
import { continueList } from "./formatting";
import { pasted } from "./paste";
import type { Target } from "./target";
import type { TextBox } from "./textarea";
import { applyFormat } from "./toolbar";

export interface MessageBoxProps {
  box: TextBox;
  /** The accessible name. */
  label: string;
  listId: string;
  to: Target;
  text: string;
  /** Whether completions float above all else: what is around the box would cut them off. */
  isFloating?: boolean;
  /** Whether the text may begin with a command. */
  hasCommands?: boolean;
  placeholder?: string;
  describedBy?: string | undefined;
  onFiles: (files: File[]) => void;
  /** Enter, where the user's settings send by it, or Ctrl+Enter. */
  onSubmit: () => void;
  onTyping?: () => void;
  /** ArrowUp in the empty box. Returns whether the key was taken. */
  onUpFromEmpty?: () => boolean;
}

export function MessageBox(props: MessageBoxProps) {
  watch("settings");
  const { box, listId, text } = props;
  const completer = useCompleter(box, props.to, props.hasCommands ?? false);
  useAutosize(box, text);
  // What was sent leaves nothing to complete.
  useLayoutEffect(() => {
    if (!text) completer.close();
  }, [text]);
  const { items, active, label, hint } = completer.view;
  const isListed = items.length > 0;
  return (
    <div class="compose-text">
      {isListed ? (
        <Completions
          id={listId}
          label={label}
          items={items}
          active={active}
          hint={hint}
          anchor={props.isFloating ? box.area : undefined}
          onPick={(item) => completer.pick(item)}
          onActive={(index) => completer.activate(index)}
        />
      ) : null}
      <textarea
        ref={box.area}
        aria-label={props.label}
        aria-describedby={props.describedBy}
        aria-controls={isListed ? listId : undefined}
        aria-activedescendant={isListed ? optionId(listId, active) : undefined}
        aria-autocomplete="list"
        rows={1}
        dir="auto"
        placeholder={props.placeholder}
        value={text}
        onInput={(event) => {
          box.holder.write(event.currentTarget.value);
          props.onTyping?.();
          completer.look();
        }}
        onFocus={() => completer.prepare()}
        onSelect={() => completer.lookIfMoved()}
        onBlur={() => completer.close()}
        onKeyDown={(event) => onKey(event, completer, props)}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          // A table copied from a spreadsheet comes with a picture of itself: the text is wanted.
          if (files.length && !event.clipboardData!.types.includes("text/plain")) {
            event.preventDefault();
            props.onFiles(files);
          } else pasted(event, box);
        }}
      />
      <CompletionsStatus items={items} active={active} />
    </div>
  );
}

/** Grow with the text, up to a part of the window. */
function useAutosize({ element }: TextBox, text: string): void {
  useLayoutEffect(() => {
    // Browsers that know the property do it themselves, without a layout for each key.
    if (!element || CSS.supports("field-sizing", "content")) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [element, text]);
}

function onKey(event: KeyboardEvent, completer: Completer, props: MessageBoxProps): void {
  if (event.isComposing) return;
  if (completer.onKey(event) || isFormatted(event, props.box)) {
    event.preventDefault();
    event.stopPropagation();
  } else if (event.key === "Enter") enter(event, props);
  else if (event.key === "ArrowUp" && !hasModifier(event) && !props.text && props.onUpFromEmpty?.()) event.preventDefault();
}

function hasModifier({ ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey || shiftKey;
}

function isFormatted(event: KeyboardEvent, box: TextBox): boolean {
  const kind = formatOf(event);
  if (kind) applyFormat(box, kind);
  return kind !== undefined;
}

/** Whether Enter alone sends; Ctrl+Enter does in any case. */
export function enterSends(): boolean {
  return Boolean(state().settings.enter_sends);
}

function enter(event: KeyboardEvent, { box, onSubmit }: MessageBoxProps): void {
  const isForced = event.ctrlKey || event.metaKey;
  if (isForced || (enterSends() && !event.shiftKey && !event.altKey)) {
    event.preventDefault();
    event.stopPropagation();
    onSubmit();
    return;
  }
  const { text, start, end } = box.selection();
  const next = continueList(text, start, end);
  if (!next) return;
  event.preventDefault();
  box.apply(next);
}
