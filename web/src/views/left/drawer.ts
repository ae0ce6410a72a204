/** Whether the sides are shown where the page is narrow: one at a time. */

import { signal } from "@preact/signals";
import { restoreFocus } from "../../ui/focus";

type Side = "left" | "right";

export const openSide = signal<Side | undefined>(undefined);
let opener: Element | null = null;

/** Show a side over the page, or take it away. The page behind it is inert, as behind a dialog. */
export function toggleSide(side: Side): void {
  if (openSide.value === side) {
    closeSide();
    return;
  }
  opener = document.activeElement;
  openSide.value = side;
}

/** Take the side away. */
export function closeSide(): void {
  openSide.value = undefined;
}

/** Give the focus back to what opened the side, when the page is no longer inert. */
export function leaveSide(): void {
  restoreFocus(opener);
}

addEventListener("hashchange", () => {
  opener = null;
  openSide.value = undefined;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !openSide.value || event.defaultPrevented) return;
  event.preventDefault();
  closeSide();
});

// Where the page is wide, the sides stand beside it.
matchMedia("(min-width: 1041px)").addEventListener("change", ({ matches }) => {
  if (matches) openSide.value = undefined;
});
