/** The textarea, its completions and keys. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { Completions, CompletionsStatus, optionId } from "../../ui/completions";
import { watch } from "../../ui/watch";
import { type Completer, useCompleter } from "./completer";
import { content, write } from "./composition";
import { fields } from "./fields";
import { formatOf } from "./formats";
import { continueList, format } from "./formatting";
import { send } from "./sending";
import type { Target } from "./target";
import { apply, selection, setTextarea } from "./textarea";
import { noteTyping } from "./typing";

const LIST_ID = "compose-completions";

export interface MessageBoxProps {
  to: Target;
  placeholder: string;
  describedBy: string | undefined;
  onFiles: (files: File[]) => void;
  onPaste: (event: ClipboardEvent) => void;
  onEscape: () => void;
}

export function MessageBox(props: MessageBoxProps) {
  watch("settings");
  const area = fields.Message;
  const text = content.value;
  const completer = useCompleter(props.to);
  useAutosize(text);
  useEffect(() => {
    setTextarea(area.current);
    return () => setTextarea(null);
  }, []);
  const { items, active, label, hint } = completer.view;
  const isListed = items.length > 0;
  return (
    <div class="compose-text">
      {isListed ? (
        <Completions
          id={LIST_ID}
          label={label}
          items={items}
          active={active}
          hint={hint}
          onPick={(item) => completer.pick(item)}
          onActive={completer.activate}
        />
      ) : null}
      <textarea
        ref={area}
        aria-label="Message"
        aria-describedby={props.describedBy}
        aria-controls={isListed ? LIST_ID : undefined}
        aria-activedescendant={isListed ? optionId(LIST_ID, active) : undefined}
        aria-autocomplete="list"
        rows={1}
        dir="auto"
        placeholder={props.placeholder}
        value={text}
        onInput={(event) => {
          write(event.currentTarget.value);
          noteTyping();
          completer.look();
        }}
        onFocus={completer.prepare}
        onSelect={completer.lookIfMoved}
        onBlur={completer.close}
        onKeyDown={(event) => onKey(event, completer, props)}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          // A table copied from a spreadsheet comes with a picture of itself: the text is wanted.
          if (files.length && !event.clipboardData!.types.includes("text/plain")) {
            event.preventDefault();
            props.onFiles(files);
          } else props.onPaste(event);
        }}
      />
      <CompletionsStatus items={items} active={active} />
    </div>
  );
}

/** Grow with the text, up to a part of the window. */
function useAutosize(text: string): void {
  const height = useRef(0);
  useLayoutEffect(() => {
    const element = fields.Message.current;
    if (!element) return;
    // Browsers that know the property do it themselves, without a layout for each key.
    if (CSS.supports("field-sizing", "content")) return;
    element.style.height = "auto";
    const needed = element.scrollHeight;
    height.current = needed;
    element.style.height = `${needed}px`;
  }, [text]);
}

function onKey(event: KeyboardEvent, completer: Completer, { onEscape }: MessageBoxProps): void {
  if (event.isComposing) return;
  if (completer.onKey(event) || formatKey(event)) {
    event.preventDefault();
    event.stopPropagation();
  } else if (event.key === "Enter") enter(event);
  else if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    onEscape();
  }
}

function formatKey(event: KeyboardEvent): boolean {
  const kind = formatOf(event);
  if (!kind) return false;
  const { text, start, end } = selection();
  apply(format(kind, text, start, end));
  return true;
}

/** Whether Enter alone sends; Ctrl+Enter does in any case. */
export function enterSends(): boolean {
  return Boolean(state().settings.enter_sends);
}

function enter(event: KeyboardEvent): void {
  const isForced = event.ctrlKey || event.metaKey;
  if (isForced || (enterSends() && !event.shiftKey && !event.altKey)) {
    event.preventDefault();
    send();
    return;
  }
  const { text, start, end } = selection();
  const next = continueList(text, start, end);
  if (!next) return;
  event.preventDefault();
  apply(next);
}

/** Return what stands in the empty box. */
export function placeholderFor(name: string | undefined): string {
  return name === undefined ? i18n.t("Write a message") : i18n.t("Message {name}", { name });
}
