/** Parts that lie over the page, each in a container of its own at the end of the body. */

import { type ComponentChild, render } from "preact";

/**
 * Show something over the page. Returns a function that takes it away.
 *
 * It belongs to the view below, and closes when the user goes to another, also by "back".
 */
export function overlay(content: (close: () => void) => ComponentChild, onClosed?: () => void): () => void {
  const close = show(content, () => {
    removeEventListener("popstate", close);
    onClosed?.();
  });
  addEventListener("popstate", close);
  return close;
}

/** Show something over the page that stays whatever view is shown. */
export function lastingOverlay(content: () => ComponentChild): void {
  show(content);
}

function show(content: (close: () => void) => ComponentChild, onClosed?: () => void): () => void {
  const host = document.createElement("div");
  host.className = "overlay";
  document.body.append(host);
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    render(null, host);
    host.remove();
    onClosed?.();
  };
  render(content(close), host);
  return close;
}
