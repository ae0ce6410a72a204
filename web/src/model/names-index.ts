/** Search in names while the user types: folded once, then matched by prefix, by word, and anywhere. */

const PLAIN = /^[\x20-\x7e]*$/;

/** Return a text as it is compared: without case and marks. */
export function fold(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

export interface Entry<Item> {
  item: Item;
  folded: string;
  /** Compared as a last resort, if it begins with what is typed: an email address. */
  also: string;
}

export type Tier = 0 | 1 | 2 | 3 | 4;

const BOUNDARY = /[\s\-_./()'’|:]/;
const BOUNDARIES = new Set([..." \t\n\u00a0-_./()'’|:"].map((each) => each.charCodeAt(0)));

/** Return how well a folded name matches: 0 is equal, 4 somewhere; undefined if it does not. */
export function tierOf(folded: string, query: string, also = ""): Tier | undefined {
  const at = folded.indexOf(query);
  if (at === 0) return folded.length === query.length ? 0 : 1;
  if (at > 0) {
    for (let found = at; found > 0; found = folded.indexOf(query, found + 1)) {
      if (BOUNDARIES.has(folded.charCodeAt(found - 1))) return 2;
    }
  }
  if (query.includes(" ") && wordsMatch(folded, query)) return 2;
  if (also && also.startsWith(query)) return 3;
  return at > 0 && query.length > 1 ? 4 : undefined;
}

/** Return whether each word that is typed begins a word of the name: "a lov" for "Ada Lovelace". */
function wordsMatch(folded: string, query: string): boolean {
  const parts = query.split(" ").filter(Boolean);
  if (!parts.every((part) => folded.includes(part))) return false;
  const words = folded.split(BOUNDARY);
  return parts.every((part) => words.some((word) => word.startsWith(part)));
}

/**
 * Return a search that remembers what matched: users type letter by letter, and what did not match
 * a text does not match a longer one.
 */
export function incremental<Item>(): (entries: readonly Entry<Item>[], query: string) => readonly Entry<Item>[] {
  let of: readonly Entry<Item>[] | undefined;
  let last = "";
  let matching: readonly Entry<Item>[] = [];
  return (entries, query) => {
    // One letter is only looked for at beginnings, more letters also within words.
    const isLonger = entries === of && last.length > 1 && query.startsWith(last);
    if (query.length < 2) return entries;
    matching = (isLonger ? matching : entries).filter((each) => tierOf(each.folded, query, each.also) !== undefined);
    of = entries;
    last = query;
    return matching;
  };
}

/** Return the best entries: by how they match, then by `score` (more is better), then by name. */
export function best<Item>(
  entries: readonly Entry<Item>[],
  query: string,
  limit: number,
  score: (item: Item) => number,
): Item[] {
  // A few are kept in order: sorting all matches of one letter in ten thousand takes longer.
  const found: { entry: Entry<Item>; tier: number; score: number }[] = [];
  if (limit <= 0) return [];
  for (const entry of entries) {
    const matched = query ? tierOf(entry.folded, query, entry.also) : 1;
    if (matched === undefined) continue;
    // Equal and beginning alike: recent recipients count more than a whole word.
    const tier = Math.max(matched, 1);
    const last = found.length === limit ? found[limit - 1]! : undefined;
    if (last && tier > last.tier) continue;
    const candidate = { entry, tier, score: score(entry.item) + (matched === 0 ? 0.5 : 0) };
    if (last && !isBefore(candidate, last)) continue;
    let at = found.length;
    while (at > 0 && isBefore(candidate, found[at - 1]!)) at -= 1;
    found.splice(at, 0, candidate);
    if (found.length > limit) found.pop();
  }
  return found.map((each) => each.entry.item);
}

interface Ranked {
  entry: { folded: string };
  tier: number;
  score: number;
}

function isBefore(one: Ranked, other: Ranked): boolean {
  if (one.tier !== other.tier) return one.tier < other.tier;
  if (one.score !== other.score) return one.score > other.score;
  return one.entry.folded < other.entry.folded;
}
