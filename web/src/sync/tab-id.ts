/** Ids of random bytes, which need no secure context, and the id of this tab. */

export function randomId(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (each) => each.toString(16).padStart(2, "0")).join("");
}

const KEY = "parley.tab";

/** Return the storage of a kind; undefined where the browser refuses it. */
export function storageOf(kind: "localStorage" | "sessionStorage"): Storage | undefined {
  try {
    const storage = globalThis[kind];
    storage.getItem(KEY);
    return storage;
  } catch {
    return undefined;
  }
}

/**
 * Return the id of this tab, the same after a reload.
 *
 * A copy of a tab starts with a copy of its session storage. So the id is stored only while the
 * page is away, and a copy, which is made of a page that is shown, gets an id of its own.
 */
export function claimTabId(): string {
  const storage = storageOf("sessionStorage");
  const id = storage?.getItem(KEY) ?? randomId(8);
  storage?.removeItem(KEY);
  addEventListener("pagehide", () => storage?.setItem(KEY, id));
  addEventListener("pageshow", () => storage?.removeItem(KEY));
  return id;
}
