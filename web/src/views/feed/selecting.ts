/** Whether messages of the feed that is shown are being selected, and which. */

import { computed, signal } from "@preact/signals";

/** Ids of the selected messages; undefined while none are being selected. */
export const selected = signal<ReadonlySet<number> | undefined>(undefined);
export const isSelecting = computed(() => selected.value !== undefined);

/** The feed that they are selected in: returns its ids in their order. */
export let order: () => readonly number[] = () => [];

/** Let messages of a feed be selected. Returns a function that ends it. */
export function selectIn(ids: () => readonly number[]): () => void {
  order = ids;
  selected.value = undefined;
  return () => {
    if (order === ids) selected.value = undefined;
  };
}
