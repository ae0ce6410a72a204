/** Why something was refused, until what it was said of is changed. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Call a function when anything in the form or dialog around an element is changed, as long as it is given. */
export function useChangeAround(element: RefObject<Element | null>, then: (() => void) | undefined): void {
  // Not after the next paint: one may write before that.
  useLayoutEffect(() => {
    const frame = then && element.current?.closest("form, .setting, .dialog-frame");
    if (!frame) return undefined;
    for (const change of ["input", "reset"]) frame.addEventListener(change, then);
    return () => {
      for (const change of ["input", "reset"]) frame.removeEventListener(change, then);
    };
  });
}

/** A problem of a form, as a text; empty if there is none. */
export function Problem({ text, clear }: { text: string; clear: (text: string) => void }) {
  const element = useRef<HTMLParagraphElement>(null);
  useChangeAround(element, text ? () => clear("") : undefined);
  return text ? <p ref={element} class="problem" role="alert">{text}</p> : null;
}
