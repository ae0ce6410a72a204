/** Whether the sides are shown where the page is narrow: one at a time. */

import { signal } from "@preact/signals";

export const openSide = signal<"left" | "right" | undefined>(undefined);

addEventListener("hashchange", () => {
  openSide.value = undefined;
});
