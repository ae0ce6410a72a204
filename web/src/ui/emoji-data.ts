/** Emoji by name: the organization's own, and the server's list, which is fetched when first needed. */

import { signal } from "@preact/signals";
import { state } from "../app";
import { best, type Entry } from "../model/names-index";

export interface Emoji {
  /** The name that is written. */
  name: string;
  code: string;
  type: "unicode_emoji" | "realm_emoji" | "zulip_extra_emoji";
  /** All names, the best one first. */
  names: string[];
  /** What it is drawn with: a text, or a picture. */
  glyph?: string;
  url?: string;
}

/** Changes when the list was fetched. */
export const emojiVersion = signal(0);

let unicode: Emoji[] = [];
let entries: Entry<{ emoji: Emoji; name: string }>[] = [];
let fetching: Promise<void> | undefined;

/** Emoji that are meant most often: first where names match alike, and in a picker that is new. */
export const COMMON =
  "+1 tada smile heart joy laughing wink fire rocket eyes thinking clap pray ok 100 check cry sweat_smile wave -1 working_on_it octopus".split(" ");
const RANKS = new Map(COMMON.map((name, index) => [name, 100 - index]));

function glyphOf(code: string): string {
  return String.fromCodePoint(...code.split("-").map((each) => Number.parseInt(each, 16)));
}

async function fetchEmoji(): Promise<void> {
  try {
    // The address names the server as others reach it; the page may be open under another name.
    const { pathname, search } = new URL(String(state().fields.server_emoji_data_url), location.href);
    const response = await fetch(pathname + search);
    const { code_to_names } = (await response.json()) as { code_to_names: Record<string, string[]> };
    unicode = Object.entries(code_to_names).map(([code, names]) => ({
      name: names[0]!,
      code,
      type: "unicode_emoji",
      names,
      glyph: glyphOf(code),
    }));
    entries = unicode.flatMap(entriesOf);
    emojiVersion.value += 1;
  } catch {
    // It is tried again with the next look.
    fetching = undefined;
  }
}

function entriesOf(emoji: Emoji): Entry<{ emoji: Emoji; name: string }>[] {
  return emoji.names.map((name) => ({ item: { emoji, name }, folded: name.replace(/_/g, " "), also: "" }));
}

/** Fetch the list, if it is not there. */
export function loadEmoji(): Promise<void> {
  return (fetching ??= fetchEmoji());
}

/** Return the organization's own emoji. */
export function ownEmoji(): Emoji[] {
  const own = (state().fields.realm_emoji ?? {}) as Record<
    string,
    { id: string; name: string; source_url: string; still_url?: string | null; deactivated: boolean }
  >;
  const active = Object.values(own).filter((each) => !each.deactivated);
  const made: Emoji[] = active.map((each) => ({
    name: each.name,
    code: String(each.id),
    type: "realm_emoji",
    names: [each.name],
    url: each.source_url,
  }));
  return made;
}

/** Return all emoji of Unicode, as far as the list was fetched. */
export function unicodeEmoji(): readonly Emoji[] {
  void loadEmoji();
  return unicode;
}

/** Return the emoji of a name. */
export function emojiNamed(name: string): Emoji | undefined {
  return ownEmoji().find((each) => each.name === name) ?? unicode.find((each) => each.names.includes(name));
}

/** Return the emoji for what is typed, each with the name that matched; own ones until the list is there. */
export function findEmoji(query: string, limit: number): { emoji: Emoji; name: string }[] {
  void loadEmoji();
  const all = [...ownEmoji().flatMap(entriesOf), ...entries];
  const typed = query.toLowerCase().replace(/_/g, " ").trim();
  const found = best(all, typed, limit * 3, ({ emoji, name }) => (emoji.url ? 200 : (RANKS.get(name) ?? 0)));
  // Of the names of one emoji the best is enough.
  const seen = new Set<string>();
  return found
    .filter(({ emoji }) => {
      const key = `${emoji.type} ${emoji.code}`;
      return !seen.has(key) && seen.add(key);
    })
    .slice(0, limit);
}
