import { expect, test } from "vitest";
import { channelNarrow, directNarrow, hashOf, type Narrow, parseNarrow, topicNarrow } from "../src/model/narrow";

const PIECES = [".", "%", "/", "-", "#", "?", "&", "+", " ", ",", "'", "(", "%2F", ".2E", "a", "Z", "7", "é", "ß", "語", "مرحبا", "👩🏽‍🚀", "ö"];
const NAMES = ["policy", "a/b", "100% . done", "日本", ""];

/** Numbers below `below`, the same in each run. */
function numbers(seed: number): (below: number) => number {
  let last = seed;
  return (below) => {
    last = (last * 48_271) % 2_147_483_647;
    return last % below;
  };
}

function parsed(narrow: Narrow, name?: string): Narrow | undefined {
  const hash = hashOf(narrow, () => name);
  expect(hash).toMatch(/^#narrow\/[\w.,/~-]*$/);
  return parseNarrow(hash.slice("#narrow/".length), () => undefined);
}

test("addresses of topics lead back to them, whatever characters they have", () => {
  const next = numbers(11);
  for (let round = 0; round < 500; round++) {
    const topic = Array.from({ length: next(8) }, () => PIECES[next(PIECES.length)]).join("");
    const narrow = topicNarrow(next(1_000), topic, next(2) ? next(1_000) : undefined);
    expect(parsed(narrow, NAMES[next(NAMES.length)])).toEqual(narrow);
  }
});

test("the topic without a name has an address, and one of each of its messages", () => {
  expect(parsed(topicNarrow(4, ""))).toEqual(topicNarrow(4, ""));
  expect(parsed(topicNarrow(4, "", 7), "policy")).toEqual(topicNarrow(4, "", 7));
  expect(parseNarrow("channel/4-policy/topic", () => undefined)).toEqual(topicNarrow(4, ""));
});

test("a slash at the end changes nothing", () => {
  expect(parseNarrow("channel/4-policy/", () => undefined)).toEqual(channelNarrow(4));
  expect(parseNarrow("dm/3,9/near/5/", () => undefined)).toEqual(directNarrow([3, 9], 5));
});
