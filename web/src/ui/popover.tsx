import type { ComponentChild, ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { restoreFocus } from "./focus";
import { overlay } from "./overlays";

const MARGIN = 8;

/** A place to open at: an element, or a point of the window. */
export type Anchor = Element | { x: number; y: number };

interface PopoverProps {
  anchor: Anchor;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}

function rectOf(anchor: Anchor): DOMRect {
  return anchor instanceof Element ? anchor.getBoundingClientRect() : new DOMRect(anchor.x, anchor.y, 0, 0);
}

/** Put a box below the anchor, or above it where there is more room, and within the window. */
export function placeBox(box: HTMLElement, anchor: Anchor): void {
  const at = rectOf(anchor);
  const { innerWidth, innerHeight } = window;
  box.style.maxHeight = `${innerHeight - 2 * MARGIN}px`;
  const { width, height } = box.getBoundingClientRect();
  const below = innerHeight - at.bottom - MARGIN;
  const isBelow = height <= below || below >= at.top - MARGIN;
  const wanted = isBelow ? at.bottom + 4 : at.top - height - 4;
  const top = Math.min(Math.max(wanted, MARGIN), Math.max(MARGIN, innerHeight - height - MARGIN));
  const isRightToLeft = getComputedStyle(box).direction === "rtl";
  const start = isRightToLeft ? at.right - width : at.left;
  const left = Math.min(Math.max(start, MARGIN), Math.max(MARGIN, innerWidth - width - MARGIN));
  box.style.top = `${top}px`;
  box.style.left = `${left}px`;
}

/** A box beside what opened it. A click elsewhere and Escape close it; the focus goes back. */
export function Popover({ anchor, onClose, children, class: name = "" }: PopoverProps) {
  const box = useRef<HTMLDivElement>(null);
  // Taken before the effects of what is inside, which may move the focus.
  const before = useRef(document.activeElement as HTMLElement | null).current;
  useLayoutEffect(() => {
    const element = box.current!;
    placeBox(element, anchor);
    if (!element.contains(document.activeElement)) (element.querySelector<HTMLElement>("[data-autofocus]") ?? element).focus({ preventScroll: true });
    const onPointer = (event: Event) => {
      const target = event.target as Node;
      const isOnAnchor = anchor instanceof Element && anchor.contains(target);
      if (!element.contains(target) && !isOnAnchor) onClose();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      onClose();
    };
    const place = () => placeBox(element, anchor);
    const sizes = new ResizeObserver(place);
    sizes.observe(element);
    document.addEventListener("pointerdown", onPointer, true);
    document.addEventListener("keydown", onKey, true);
    addEventListener("resize", place);
    return () => {
      sizes.disconnect();
      document.removeEventListener("pointerdown", onPointer, true);
      document.removeEventListener("keydown", onKey, true);
      removeEventListener("resize", place);
      if (element.contains(document.activeElement) || document.activeElement === document.body) restoreFocus(before);
    };
  }, []);
  return (
    <div class={`popover ${name}`} ref={box} tabIndex={-1}>
      {children}
    </div>
  );
}

let closeOpen: (() => void) | undefined;

/** Open a popover; one that is open is closed. Opening from the same button again closes it. */
export function openPopover(anchor: Anchor, content: (close: () => void) => ComponentChild, name = ""): () => void {
  const isSame = anchor instanceof Element && anchor.getAttribute("aria-expanded") === "true";
  closeOpen?.();
  if (isSame) return () => {};
  if (anchor instanceof Element) anchor.setAttribute("aria-expanded", "true");
  const close = overlay(
    (done) => (
      <Popover anchor={anchor} onClose={done} class={name}>
        {content(done)}
      </Popover>
    ),
    () => {
      if (anchor instanceof Element) anchor.setAttribute("aria-expanded", "false");
      if (closeOpen === close) closeOpen = undefined;
    },
  );
  closeOpen = close;
  return close;
}
