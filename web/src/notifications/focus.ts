/** Whether a person looks at this page in any tab: then nothing has to be notified of. */

const KEY = "parley.focused";
const RENEWED_EVERY_MS = 4_000;
/** After which a tab that has crashed no longer counts. */
const VALID_MS = 10_000;

/** Tell the other tabs from now on whether this one has the focus. */
export function shareFocus(tab: string, storage: Storage | undefined): void {
  const tell = (hasFocus: boolean) => {
    try {
      if (hasFocus) storage?.setItem(KEY, `${tab} ${Date.now()}`);
      else if (storage?.getItem(KEY)?.startsWith(`${tab} `)) storage.removeItem(KEY);
    } catch {
      // Full or refused: each tab knows of itself only.
    }
  };
  const renew = () => tell(document.hasFocus());
  for (const type of ["focus", "blur", "pageshow"]) addEventListener(type, renew);
  // A page that is closed still has the focus.
  addEventListener("pagehide", () => tell(false));
  setInterval(renew, RENEWED_EVERY_MS);
  renew();
}

/** Return whether this tab or another one has the focus. */
export function isLookedAt(storage: Storage | undefined, now = Date.now()): boolean {
  if (document.hasFocus()) return true;
  const [, at] = storage?.getItem(KEY)?.split(" ") ?? [];
  return at !== undefined && now - Number(at) < VALID_MS;
}
