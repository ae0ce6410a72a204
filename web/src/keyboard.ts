/** Keys that work everywhere on the page, unless the user is writing. */

import { state } from "./app";
import { i18n } from "./i18n";
import { go } from "./router";
import { actOf, type Shortcut } from "./ui/shortcuts";
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

export const PAGE_KEYS: readonly Shortcut<() => void>[] = [
  { keys: ["/"], name: () => i18n.t("Search"), act: focusSearch },
  {
    keys: ["n"],
    name: () => i18n.t("Next unread conversation"),
    act: () => void import("./views/left/next-unread").then((module) => module.goToNextUnread()),
  },
  { keys: ["i"], name: () => i18n.t("Inbox"), act: () => go("#inbox") },
  { keys: ["t"], name: () => i18n.t("Recent conversations"), act: () => go("#recent") },
  { keys: ["a"], name: () => i18n.t("Combined feed"), act: () => go("#feed") },
  { keys: ["@"], name: () => i18n.t("Mentions"), act: () => go("#narrow/is/mentioned") },
  { keys: ["d"], name: () => i18n.t("Drafts"), act: () => go("#drafts") },
  { keys: ["c"], name: () => i18n.t("Write to this conversation"), act: () => compose() },
  { keys: ["C"], name: () => i18n.t("New topic"), act: () => startTopic() },
  { keys: ["x"], name: () => i18n.t("New direct message"), act: () => startDirect() },
  { keys: ["?"], name: () => i18n.t("This list"), act: () => void import("./views/keys/keys").then((module) => module.openKeys()) },
];

/** Keys between the rows of a view that is a list. */
const LIST_KEYS = new Set(["ArrowDown", "j", "ArrowUp", "k"]);

/** Return what Escape does where there is nothing to close: the home view is shown, if that is chosen. */
function homeAct(): (() => void) | undefined {
  return state().settings.web_escape_navigates_to_home_view ? () => go("#") : undefined;
}

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
    if (LIST_KEYS.has(event.key) && document.querySelector(".list-view .rows")) {
      void import("./ui/list-keys").then((module) => module.moveInList(event.key));
      event.preventDefault();
      return;
    }
    const act = event.key === "Escape" ? homeAct() : actOf(PAGE_KEYS, event.key);
    if (!act) return;
    event.preventDefault();
    act();
  });
}
