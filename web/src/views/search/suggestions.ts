/** What the search box suggests, and the narrow of what is written in it. */

import { i18n } from "../../i18n";
import { COLLATOR, foldText } from "../../model/counts";
import type { Narrow, Term } from "../../model/narrow";
import { type State, topicKey } from "../../model/state";

export interface Suggestion {
  /** What the box holds if it is chosen. */
  text: string;
  description: string;
}

const MAX_SUGGESTIONS = 12;

const FIXED: readonly [string, () => string][] = [
  ["is:unread", () => i18n.t("Unread messages")],
  ["is:mentioned", () => i18n.t("Messages that mention you")],
  ["is:starred", () => i18n.t("Starred messages")],
  ["is:followed", () => i18n.t("Messages in followed topics")],
  ["is:alerted", () => i18n.t("Messages with alert words")],
  ["is:dm", () => i18n.t("Direct messages")],
  ["is:resolved", () => i18n.t("Messages in resolved topics")],
  ["is:muted", () => i18n.t("Messages in muted topics")],
  ["has:link", () => i18n.t("Messages with links")],
  ["has:image", () => i18n.t("Messages with images")],
  ["has:attachment", () => i18n.t("Messages with files")],
  ["has:reaction", () => i18n.t("Messages with reactions")],
];

/** What spectators may search by. */
const FOR_ALL = /^(?:has:|is:resolved)/;

/** Split a query into words; a phrase in quotes, or after an operator, is one. */
export function wordsOf(query: string): string[] {
  return query.match(/-?[\w-]+:"[^"]*"?|"[^"]*"?|\S+/g) ?? [];
}

/** Return the narrow of a query: operators as the protocol has them, the rest is searched for. */
export function narrowOfQuery(query: string, state: State): Narrow {
  const terms: Term[] = [];
  const words: string[] = [];
  for (const word of wordsOf(query)) {
    const term = termOf(word, state);
    if (term) terms.push(term);
    else words.push(word);
  }
  if (words.length) terms.push({ operator: "search", operand: words.join(" ") });
  return { terms };
}

const OPERATORS = new Set(["channel", "stream", "channels", "streams", "topic", "subject", "dm", "pm-with", "dm-including", "sender", "from", "is", "has", "in", "near", "id", "mentions"]);
const CANONICAL: Record<string, string> = { stream: "channel", streams: "channels", subject: "topic", "pm-with": "dm", from: "sender" };

const UNKNOWN = /^-?([a-z][a-z_-]*):(?!\/\/)["\p{L}\p{N}]/iu;

/** Return the operators in a query that the protocol does not have: with quotes around them they are text. */
export function unknownOperators(query: string): string[] {
  const names = wordsOf(query).map((word) => UNKNOWN.exec(word)?.[1]);
  return [...new Set(names.filter((name): name is string => name !== undefined && !OPERATORS.has(name)))];
}

/** Return a sentence about the operators in a query that do not exist; undefined if all do. */
export function aboutUnknown(query: string): string | undefined {
  const names = unknownOperators(query);
  if (!names.length) return undefined;
  const filters = names.map((name) => `${name}:`).join(" ");
  return i18n.t("{count, plural, one {There is no filter “{filters}”: it is searched for as text.} other {There are no filters “{filters}”: they are searched for as text.}}", {
    count: names.length,
    filters,
  });
}

function termOf(word: string, state: State): Term | undefined {
  const [, minus, name, raw] = /^(-?)([\w-]+):(.*)$/s.exec(word) ?? [];
  if (name === undefined || raw === undefined || !OPERATORS.has(name)) return undefined;
  const operator = CANONICAL[name] ?? name;
  const text = raw.replace(/^"|"$/g, "").replace(/\+/g, " ");
  if (!text && operator !== "topic") return undefined;
  const operand = operandOf(operator, text, state);
  return minus ? { operator, operand, negated: true } : { operator, operand };
}

function operandOf(operator: string, text: string, state: State): Term["operand"] {
  if (operator === "channel") {
    const wanted = foldText(text);
    return [...state.channels.values()].find((each) => foldText(each.name) === wanted)?.stream_id ?? text;
  }
  if (operator === "dm" || operator === "dm-including" || operator === "sender") {
    const ids = text.split(",").map((name) => personOf(name.trim(), state));
    if (ids.every((id) => id !== undefined)) return operator === "sender" ? ids[0]! : (ids as number[]);
    return text;
  }
  return operator === "near" || operator === "id" ? Number(text) || text : text;
}

/** Return the person of a name, an id or an address; or the only one whose name has words that begin so. */
function personOf(name: string, state: State): number | undefined {
  if (name === "me") return state.userId;
  if (/^\d+$/.test(name) && state.users.has(Number(name))) return Number(name);
  const wanted = foldText(name);
  const people = [...state.users.values()];
  const exact = people.find((each) => foldText(each.full_name) === wanted || each.email === name);
  if (exact || !wanted) return exact?.user_id;
  const similar = people.filter((each) => hasWord(foldText(each.full_name), wanted));
  return similar.length === 1 ? similar[0]!.user_id : undefined;
}

/** Return whether a name, or a part of it from one of its words on, begins with a text. Both are folded. */
function hasWord(name: string, text: string): boolean {
  return name.startsWith(text) || name.split(/[\s_-]/).some((part) => part.startsWith(text));
}

/** Return the text of a narrow, for the box. */
export function queryOf(narrow: Narrow, state: State): string {
  return narrow.terms.map((term) => wordOf(term, state)).join(" ");
}

function wordOf({ operator, operand, negated }: Term, state: State): string {
  if (operator === "search") return String(operand);
  const name = (id: number) => state.users.get(id)?.full_name ?? String(id);
  let text = String(operand);
  if (operator === "channel" && typeof operand === "number") text = state.channels.get(operand)?.name ?? text;
  if (Array.isArray(operand)) text = operand.map(name).join(",");
  else if (operator === "sender" && typeof operand === "number") text = name(operand);
  return `${negated ? "-" : ""}${operator}:${quoted(text)}`;
}

function quoted(text: string): string {
  return /\s/.test(text) || text === "" ? `"${text}"` : text;
}

/** Return suggestions for what is written, best first. */
export function suggestionsFor(query: string, state: State, topics: readonly { channelId: number; name: string }[]): Suggestion[] {
  const words = wordsOf(query);
  const last = /\s$/.test(query) || !query ? "" : (words.pop() ?? "");
  const before = words.length ? `${words.join(" ")} ` : "";
  const found: Suggestion[] = [];
  const add = (word: string, description: string) => {
    if (!words.includes(word)) found.push({ text: before + word, description });
  };
  const colon = last.indexOf(":");
  const operator = colon > 0 ? last.slice(0, colon).replace(/^-/, "") : "";
  const wanted = foldText((colon > 0 ? last.slice(colon + 1) : last).replace(/"/g, ""));
  const sign = last.startsWith("-") ? "-" : "";
  const begins = (name: string) => hasWord(foldText(name), wanted);
  if (query.trim()) found.push({ text: query.trim(), description: aboutUnknown(query) ?? i18n.t("Search for {query}", { query: query.trim() }) });
  if (!operator || operator === "is" || operator === "has") {
    for (const [word, describe] of FIXED) {
      if (!state.userId && !FOR_ALL.test(word)) continue;
      if (operator ? word.startsWith(`${operator}:`) && begins(word.split(":")[1]!) : !wanted || begins(word.split(":")[1]!) || word.startsWith(wanted)) {
        add(sign + word, describe());
      }
    }
  }
  if ((!operator && wanted) || operator === "channel" || operator === "stream") {
    const channels = [...state.channels.values()].filter((each) => begins(each.name));
    channels.sort((one, other) => Number(other.is_subscribed) - Number(one.is_subscribed) || COLLATOR.compare(one.name, other.name));
    for (const { name } of channels.slice(0, 5)) add(`${sign}channel:${quoted(name)}`, i18n.t("Messages in {name}", { name }));
  }
  if ((!operator && wanted) || operator === "topic") {
    const seen = new Set<string>();
    for (const { channelId, name } of topics) {
      if (seen.size >= 5) break;
      const key = topicKey(channelId, name);
      if (!begins(name) || seen.has(key)) continue;
      seen.add(key);
      const channel = state.channels.get(channelId)?.name ?? "";
      const inChannel = words.some((word) => word.startsWith("channel:")) ? "" : `channel:${quoted(channel)} `;
      add(`${inChannel}topic:${quoted(name)}`, i18n.t("Topic {name} in {channel}", { name, channel }));
    }
  }
  if ((!operator && wanted) || ["dm", "dm-including", "sender", "from", "mentions"].includes(operator)) {
    const people = [...state.users.values()].filter((each) => each.is_active && begins(each.full_name)).slice(0, 4);
    for (const { full_name: name } of people) {
      const text = quoted(name);
      if (operator !== "dm" && operator !== "dm-including") add(`${sign}sender:${text}`, i18n.t("Messages sent by {name}", { name }));
      if (!operator || operator === "dm") add(`${sign}dm:${text}`, i18n.t("Direct messages with {name}", { name }));
      if (operator === "dm-including") add(`${sign}dm-including:${text}`, i18n.t("Direct messages that include {name}", { name }));
    }
  }
  const texts = new Set<string>();
  return found.filter((each) => !texts.has(each.text) && texts.add(each.text)).slice(0, MAX_SUGGESTIONS);
}
