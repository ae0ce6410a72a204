import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { effect } from "@preact/signals";
import { announce, calmVersion } from "../src/ui/watch";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("what changes all the time is followed at once, then every so often, and to its last change", () => {
  const calm = calmVersion("presence", 1000);
  const seen: number[] = [];
  effect(() => {
    seen.push(calm.value);
  });
  const changeFor = (times: number) => {
    for (let time = 0; time < times; time += 1) {
      announce(["presence"]);
      vi.advanceTimersByTime(100);
    }
  };
  changeFor(25);
  expect(seen).toEqual([0, 1, 10, 20]);
  vi.advanceTimersByTime(5000);
  expect(seen).toEqual([0, 1, 10, 20, 25]);
  changeFor(1);
  expect(seen.at(-1)).toBe(26);
});
