/** The time as a signal that changes each minute: what depends on it is rendered again. */

import { signal } from "@preact/signals";

export const minute = signal(Date.now());

setInterval(() => {
  if (!document.hidden) minute.value = Date.now();
}, 60_000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) minute.value = Date.now();
});
