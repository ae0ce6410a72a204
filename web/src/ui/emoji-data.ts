/** Emoji by name: the organization's own, and the server's list, which is fetched when first needed. */

import { signal } from "@preact/signals";
import { state } from "../app";
import { i18n } from "../i18n";
import { type Translated, translatedLanguage } from "../languages";
import { best, type Entry, fold } from "../model/names-index";

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

/** What matched: a name of an emoji, or a word of the page's language for it. */
export interface FoundEmoji {
  emoji: Emoji;
  name: string;
  word?: string;
}

/** What loads the words of each language but English, in which the names are. */
const WORDS: Readonly<Record<Translated, () => Promise<{ default: Record<string, string[]> }>>> = {
  ar: () => import("virtual:emoji-words/ar"),
  de: () => import("virtual:emoji-words/de"),
};

let unicode: Emoji[] = [];
let entries: Entry<FoundEmoji>[] = [];
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
    await addWords();
  } catch {
    // It is tried again with the next look.
    fetching = undefined;
  }
}

async function addWords(): Promise<void> {
  const language = translatedLanguage(i18n.locale);
  if (!language) return;
  const words = (await WORDS[language]()).default;
  entries = entries.concat(
    unicode.flatMap((emoji) =>
      (words[emoji.code] ?? []).map((word) => ({ item: { emoji, name: emoji.name, word }, folded: fold(word), also: "" })),
    ),
  );
  emojiVersion.value += 1;
}

function entriesOf(emoji: Emoji): Entry<FoundEmoji>[] {
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

/** Return the emoji for what is typed, each with what matched; own ones until the list is there. */
export function findEmoji(query: string, limit: number): FoundEmoji[] {
  void loadEmoji();
  const all = [...ownEmoji().flatMap(entriesOf), ...entries];
  const typed = fold(query).replace(/_/g, " ").trim();
  // Several words of an emoji may match.
  const found = best(all, typed, limit * 5, ({ emoji, name }) => (emoji.url ? 200 : (RANKS.get(name) ?? 0)));
  // Of the names of one emoji the best is enough.
  const seen = new Set<string>();
  return found
    .filter(({ emoji }) => {
      const key = `${emoji.type} ${emoji.code}`;
      return !seen.has(key) && seen.add(key);
    })
    .slice(0, limit);
}
