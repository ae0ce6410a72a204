/** Keys that work everywhere on the page, unless one is writing. */

import { go } from "./router";
import { compose, startDirect, startTopic } from "./views/compose/target";
import { focusSearch } from "./views/search/search-box";

export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && /^(checkbox|radio|button|submit)$/.test(target.type))
  );
}

function isModal(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

const KEYS: Record<string, () => void> = {
  c: () => compose(),
  x: () => startDirect(),
  C: () => startTopic(),
  "/": focusSearch,
  "?": () => void import("./views/keys/keys").then((module) => module.openKeys()),
  a: () => go("#feed"),
  i: () => go("#inbox"),
  t: () => go("#recent"),
  d: () => go("#drafts"),
  "@": () => go("#narrow/is/mentioned"),
  n: () => void import("./views/left/next-unread").then((module) => module.goToNextUnread()),
};

/** Listen for the keys of the page. Keys of the feed and of dialogs are handled there. */
export function startKeyboard(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k" && !event.shiftKey) {
      if (isModal()) return;
      event.preventDefault();
      void import("./views/palette/palette").then((module) => module.openPalette());
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target) || isModal()) return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
