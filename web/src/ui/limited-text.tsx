/** Texts that have a limit: it is shown before it is reached, and when something was cut off. */

import type { InputHTMLAttributes, TargetedClipboardEvent, TargetedInputEvent, TextareaHTMLAttributes } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { i18n } from "../i18n";

/** The part of the limit within which it is shown. */
const NEAR = 0.2;
const NEAR_AT_LEAST = 10;

export interface LimitNoteProps {
  id: string;
  length: number;
  max: number;
  /** Whether a part of what was pasted had no room. */
  isCut?: boolean;
}

/** How much room is left, once there is not much. It is said to screen readers when there is none. */
export function LimitNote({ id, length, max, isCut = false }: LimitNoteProps) {
  const left = max - length;
  const isNear = isCut || left <= Math.max(NEAR_AT_LEAST, max * NEAR);
  return (
    <span id={id} class={`limit-note${left <= 0 ? " is-full" : ""}`} role="status">
      {isNear && length > 0 ? textOf(left, max, isCut) : null}
    </span>
  );
}

function textOf(left: number, max: number, isCut: boolean): string {
  if (isCut) return i18n.t("The rest was cut off: at most {max} characters.", { max });
  if (left < 0) return i18n.t("{over, plural, one {# character} other {# characters}} too many: at most {max}.", { over: -left, max });
  if (left === 0) return i18n.t("No more room: at most {max} characters.", { max });
  return i18n.t("{left, plural, one {# character} other {# characters}} left", { left });
}

type Field = HTMLInputElement | HTMLTextAreaElement;

export type LimitedTextProps = { list?: string } & Omit<InputHTMLAttributes, "value" | "maxLength" | "onInput" | "onPaste" | "type" | "ref" | "max"> & {
  value: string;
  max: number | undefined;
  onText: (text: string) => void;
  /** Lines of a text that may have several; a field of one line without it. */
  rows?: number | undefined;
  /** Why the text cannot be taken as it is: it is said below the field, whose form is not sent. */
  problem?: string | undefined;
  /** What a field of one line is for, if not any text. */
  type?: "url";
};

/** A text field with a limit. */
export function LimitedText({ value, max, onText, rows, problem, "aria-describedby": described, ...rest }: LimitedTextProps) {
  const id = `${useId()}-limit`;
  const [isCut, setCut] = useState(false);
  const field = useRef<Field>(null);
  useLayoutEffect(() => {
    // The note stands in the label of the field, but is no part of its name.
    const name = field.current?.closest("label")?.querySelector<HTMLElement>(":scope > span:not(.limit-note)");
    if (!name || rest["aria-label"]) return;
    name.id ||= `${id}-name`;
    field.current!.setAttribute("aria-labelledby", name.id);
  }, []);
  useLayoutEffect(() => field.current!.setCustomValidity(problem ?? ""), [problem]);
  const hasNote = max !== undefined || problem !== undefined;
  const attributes = {
    ...rest,
    ref: field,
    value,
    maxLength: max,
    "aria-invalid": problem === undefined ? undefined : true,
    "aria-describedby": hasNote ? [described, id].filter(Boolean).join(" ") : described,
    onInput: (event: TargetedInputEvent<Field>) => {
      if (!(event as InputEvent).inputType?.startsWith("insertFromPaste")) setCut(false);
      onText(event.currentTarget.value);
    },
    onPaste: (event: TargetedClipboardEvent<Field>) => {
      const { selectionStart, selectionEnd } = event.currentTarget;
      const pasted = event.clipboardData?.getData("text/plain") ?? "";
      const replaced = (selectionEnd ?? 0) - (selectionStart ?? 0);
      setCut(max !== undefined && value.length - replaced + pasted.length > max);
    },
  };
  return (
    <>
      {rows === undefined ? (
        <input type="text" {...(attributes as InputHTMLAttributes)} />
      ) : (
        <textarea rows={rows} {...(attributes as TextareaHTMLAttributes)} />
      )}
      {problem !== undefined ? (
        <span id={id} class="limit-note is-full" role="status">{problem}</span>
      ) : max !== undefined ? (
        <LimitNote id={id} length={value.length} max={max} isCut={isCut} />
      ) : null}
    </>
  );
}
