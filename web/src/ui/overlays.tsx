/** Parts that lie over the page, each in a container of its own at the end of the body. */

import { type ComponentChild, render } from "preact";

/** Show something over the page. Returns a function that takes it away. */
export function overlay(content: (close: () => void) => ComponentChild, onClosed?: () => void): () => void {
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
