import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isLookedAt, shareFocus } from "../src/notifications/focus";

let page: EventTarget;
let hasFocus: boolean;

function aStorage(): Storage {
  const items = new Map<string, string>();
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  } as Storage;
}

/** Whether a tab without the focus believes that another one has it. */
function seenByAnother(storage: Storage): boolean {
  const own = hasFocus;
  hasFocus = false;
  const isSeen = isLookedAt(storage);
  hasFocus = own;
  return isSeen;
}

beforeEach(() => {
  vi.useFakeTimers();
  page = new EventTarget();
  hasFocus = true;
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("document", { hasFocus: () => hasFocus });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("other tabs know as long as a tab has the focus", () => {
  const storage = aStorage();
  shareFocus("one", storage);
  vi.advanceTimersByTime(60_000);
  expect(seenByAnother(storage)).toBe(true);
  hasFocus = false;
  page.dispatchEvent(new Event("blur"));
  expect(seenByAnother(storage)).toBe(false);
});

test("a tab that is closed still has the focus, and is not looked at any more", () => {
  const storage = aStorage();
  shareFocus("one", storage);
  page.dispatchEvent(new Event("pagehide"));
  expect(seenByAnother(storage)).toBe(false);
  page.dispatchEvent(new Event("pageshow"));
  expect(seenByAnother(storage)).toBe(true);
});

test("a tab that loses the focus takes nothing from the one that has it", () => {
  const storage = aStorage();
  shareFocus("one", storage);
  shareFocus("two", storage);
  page = new EventTarget();
  hasFocus = false;
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  shareFocus("three", storage);
  page.dispatchEvent(new Event("blur"));
  expect(seenByAnother(storage)).toBe(true);
});
