import { describe, expect, it } from "vitest";
import { extendBack, extendOn, fit, MAX_SHOWN, rangeOf, windowAt } from "../src/views/feed/window";

const ids = (count: number, from = 1) => Array.from({ length: count }, (_, index) => from + index * 2);
const size = (all: number[], window: ReturnType<typeof windowAt>) => {
  const { start, end } = rangeOf(all, window!);
  return end - start;
};

describe("the window of a feed", () => {
  it("is none without messages", () => {
    expect(windowAt([], 5)).toBeUndefined();
    expect(fit([], { first: 1, last: 9 }, true)).toBeUndefined();
  });

  it("holds all of a short feed", () => {
    expect(windowAt([3, 5], undefined)).toEqual({ first: 3, last: 5 });
    expect(windowAt([3, 5], 4)).toEqual({ first: 3, last: 5 });
  });

  it("is around the message that it opens at", () => {
    const all = ids(1000);
    const { start, end } = rangeOf(all, windowAt(all, all[500])!);
    expect(start).toBeLessThan(496);
    expect(end).toBeGreaterThan(515);
  });

  it("never grows beyond the maximum, in either direction", () => {
    const all = ids(5000);
    let window = windowAt(all, all[2500])!;
    for (let step = 0; step < 30; step += 1) window = extendBack(all, window);
    expect(size(all, window)).toBe(MAX_SHOWN);
    const { first } = window;
    for (let step = 0; step < 3; step += 1) window = extendOn(all, window);
    expect(size(all, window)).toBe(MAX_SHOWN);
    expect(window.first).toBeGreaterThan(first);
  });

  it("reaches both ends, and stops there", () => {
    const all = ids(100);
    let window = windowAt(all, all[50])!;
    for (let step = 0; step < 5; step += 1) window = extendOn(all, extendBack(all, window));
    expect(window).toEqual({ first: all[0], last: all.at(-1) });
  });

  it("keeps its messages when older ones are put in front", () => {
    const window = { first: 101, last: 141 };
    expect(fit([...ids(10, 1), ...ids(50, 101)], window, false)).toEqual(window);
  });

  it("follows the end, and drops the oldest then", () => {
    const all = ids(MAX_SHOWN);
    const window = { first: all[0]!, last: all.at(-1)! };
    const more = [...all, all.at(-1)! + 2];
    expect(fit(more, window, true)).toEqual({ first: all[1], last: more.at(-1) });
    expect(fit(more, window, false)).toEqual(window);
  });

  it("jumps to the end when very many have arrived", () => {
    const all = ids(2000);
    const window = fit(all, { first: all[0]!, last: all[79]! }, true);
    expect(window!.last).toBe(all.at(-1));
    expect(size(all, window)).toBeLessThan(MAX_SHOWN);
  });

  it("goes to what is nearest when its messages are gone", () => {
    const window = fit([...ids(200, 1), ...ids(200, 1001)], { first: 500, last: 600 }, false)!;
    expect(window.first).toBeLessThan(500);
    expect(window.last).toBeGreaterThan(600);
  });

  it("shrinks with messages that are deleted at its edges", () => {
    expect(fit([3, 5, 7], { first: 1, last: 9 }, false)).toEqual({ first: 3, last: 7 });
  });
});
