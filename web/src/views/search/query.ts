/** The narrow of what is written in the search box, and back. */

import { i18n } from "../../i18n";
import { foldText } from "../../model/counts";
import type { Narrow, Term } from "../../model/narrow";
import type { State } from "../../model/state";

export interface Suggestion {
  /** What the box holds if it is chosen. */
  text: string;
  description: string;
}

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
  return [...new Set(names.filter((name): name is string => name !== undefined && name !== "date" && !OPERATORS.has(name)))];
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
export function hasWord(name: string, text: string): boolean {
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

export function quoted(text: string): string {
  return /\s/.test(text) || text === "" ? `"${text}"` : text;
}

/** Return the suggestion to search for what is written; none where nothing is. */
export function searchFor(query: string): Suggestion[] {
  const text = query.trim();
  return text ? [{ text, description: aboutUnknown(query) ?? i18n.t("Search for {query}", { query: text }) }] : [];
}
