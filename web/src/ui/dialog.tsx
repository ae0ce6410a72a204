import type { ComponentChildren, ComponentChild } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { i18n } from "../i18n";
import { FOCUSABLE, holdFocus, restoreFocus } from "./focus";
import { overlay } from "./overlays";

export interface DialogProps {
  /** The heading, which is the dialog's name. */
  title: string;
  onClose: () => void;
  /** Buttons at the end. */
  footer?: ComponentChildren;
  /** `wide` for what has columns, `full` for pictures. */
  size?: "narrow" | "medium" | "wide" | "full";
  children: ComponentChildren;
}

let serial = 0;

/** A modal dialog: the page behind it is inert; Escape closes it, and the focus goes back to where it was. */
export function Dialog({ title, onClose, footer, size = "medium", children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const id = useRef(`dialog-${serial++}`).current;
  // Taken before the effects of what is inside, which may move the focus.
  const before = useRef(document.activeElement as HTMLElement | null).current;
  useLayoutEffect(() => {
    const dialog = element.current!;
    // What was in a dialog that this one replaces is gone, and the focus is back where that was opened.
    const opener = before?.isConnected ? before : document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    const release = holdFocus(dialog);
    return () => {
      release();
      dialog.close();
      restoreFocus(opener);
    };
  }, []);
  useLayoutEffect(() => {
    const frame = body.current!;
    // A text that is longer than the dialog is scrolled by keys.
    const isLongText = frame.scrollHeight > frame.clientHeight && !frame.querySelector(FOCUSABLE);
    if (isLongText) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  });
  return (
    <dialog
      ref={element}
      class={`dialog dialog-${size}`}
      aria-labelledby={id}
      onCancel={(event) => {
        if (event.target !== element.current) return;
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div class="dialog-frame">
        <header class="dialog-head">
          <h2 id={id}><bdi>{title}</bdi></h2>
          <button type="button" class="icon-button" data-icon="close" aria-label={i18n.t("Close")} onClick={onClose} />
        </header>
        <div class="dialog-body" ref={body}>{children}</div>
        {footer ? <footer class="dialog-foot">{footer}</footer> : null}
      </div>
    </dialog>
  );
}

/** Show a dialog over the page; `content` renders a `Dialog`. */
export function openDialog(content: (close: () => void) => ComponentChild): () => void {
  return overlay(content);
}

/** A question, and the name of the button that confirms it. */
export interface Confirmation {
  title: string;
  text: string;
  action: string;
  /** The name of the button that does not; otherwise "Cancel". */
  cancel?: string;
  isDangerous?: boolean;
}

/** Ask for confirmation. Resolves to whether it was given. */
export function confirm(given: Confirmation): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = false;
    overlay(
      (close) => (
        <Dialog
          title={given.title}
          size="narrow"
          onClose={close}
          footer={
            <>
              <button type="button" data-autofocus={given.isDangerous || undefined} onClick={close}>{given.cancel || i18n.t("Cancel")}</button>
              <button
                type="button"
                class={given.isDangerous ? "danger" : "primary"}
                data-autofocus={!given.isDangerous || undefined}
                onClick={() => {
                  answer = true;
                  close();
                }}
              >
                {given.action}
              </button>
            </>
          }
        >
          <p dir="auto">{given.text}</p>
        </Dialog>
      ),
      () => resolve(answer),
    );
  });
}
