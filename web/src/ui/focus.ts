/** Where the focus goes when what had it is gone. */

/** Focus the middle of the page, from which the keys of the feed work. */
export function focusMain(): void {
  document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
}

/** Focus what had the focus before, or the middle of the page where that is gone or cannot have it. */
export function restoreFocus(before: Element | null): void {
  if (before instanceof HTMLElement && before.isConnected && before !== document.body) {
    before.focus({ preventScroll: true });
    if (document.activeElement === before) return;
  }
  focusMain();
}

/** Focus the middle of the page if nothing has the focus. */
export function keepFocus(): void {
  if (document.activeElement === document.body) focusMain();
}

/** What Tab moves to. */
export const FOCUSABLE = ":is(a[href], button, input, select, textarea):not(:disabled, [tabindex='-1'], [hidden])";

/** Focus what is nearest within an element when what had the focus in it is removed. Returns a function that ends this. */
export function holdFocus(frame: HTMLElement): () => void {
  let path: HTMLElement[] = [];
  const note = ({ target }: FocusEvent) => {
    path = [];
    for (let each = target as HTMLElement | null; each && each !== frame; each = each.parentElement) path.push(each);
  };
  const observer = new MutationObserver(() => {
    if (!path.length || path[0]!.isConnected || document.activeElement !== document.body) return;
    const around = [...path.filter((each) => each.isConnected), frame];
    for (const each of around) {
      const next = each.querySelector<HTMLElement>(FOCUSABLE);
      next?.focus();
      if (next && document.activeElement === next) return;
    }
  });
  frame.addEventListener("focusin", note);
  observer.observe(frame, { childList: true, subtree: true });
  return () => {
    frame.removeEventListener("focusin", note);
    observer.disconnect();
  };
}
