/**
 * Narrows, and their addresses: `#narrow/channel/46-policy/topic/x/near/123`.
 *
 * The addresses are those of links in messages, mails and notifications. Operands are
 * percent-encoded with `.` for `%`, and names are for people only: ids decide.
 */

export interface Term {
  operator: string;
  operand: string | number | number[];
  negated?: boolean;
}

export interface Narrow {
  terms: Term[];
  /** A message to show, of the same narrow (`near`), or one to follow wherever it was moved. */
  near?: number;
}

const SYNONYMS: Record<string, string> = {
  stream: "channel",
  streams: "channels",
  subject: "topic",
  pm: "dm",
  "pm-with": "dm",
  from: "sender",
  "dm-including": "dm-including",
  "group-pm-with": "dm-including",
};

export function encodeOperand(text: string): string {
  return encodeURIComponent(text)
    .replace(/\./g, "%2E")
    .replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%/g, ".");
}

export function decodeOperand(encoded: string): string {
  try {
    return decodeURIComponent(encoded.replace(/\./g, "%"));
  } catch {
    return encoded;
  }
}

function slug(name: string): string {
  return encodeOperand(name.replace(/\s+/g, "-"));
}

function encodeTerm({ operator, operand, negated }: Term, channelName: (id: number) => string | undefined): string {
  const key = `${negated ? "-" : ""}${operator}`;
  if (operator === "channel" && typeof operand === "number") {
    const name = channelName(operand);
    return `${key}/${operand}${name === undefined ? "" : `-${slug(name)}`}`;
  }
  const value = Array.isArray(operand) ? operand.join(",") : String(operand);
  return `${key}/${encodeOperand(value).replace(/\.2C/g, ",")}`;
}

/** Return the address of a narrow, for `href`. */
export function hashOf(narrow: Narrow, channelName: (id: number) => string | undefined): string {
  const parts = narrow.terms.map((term) => encodeTerm(term, channelName));
  if (narrow.near !== undefined) parts.push(`near/${narrow.near}`);
  return parts.length ? `#narrow/${parts.join("/")}` : "#feed";
}

/**
 * Return the narrow of the part of an address after `#narrow/`. `channelId` returns the id of a channel, the name if there is no
 * such channel, and undefined if it cannot tell: then there is no narrow. Values that an operator does not take are kept, for the
 * server to refuse.
 */
export function parseNarrow(path: string, channelId: (name: string) => number | string | undefined): Narrow | undefined {
  const pieces = path.replace(/^\/+/, "").split("/");
  // An empty piece after an operator is the topic without a name.
  if (pieces.length % 2 && pieces.at(-1) === "") pieces.pop();
  else if (pieces.length % 2) pieces.push("");
  const narrow: Narrow = { terms: [] };
  for (let index = 0; index < pieces.length; index += 2) {
    const negated = pieces[index]!.startsWith("-");
    const name = decodeOperand(pieces[index]!.replace(/^-/, ""));
    const operator = SYNONYMS[name] ?? name;
    const text = pieces[index + 1]!;
    if ((operator === "near" || operator === "with") && /^\d+$/.test(text)) {
      if (operator === "near") narrow.near = Number(text);
      else narrow.terms.push({ operator, operand: Number(text) });
      continue;
    }
    const operand = operandOf(operator, text, channelId);
    if (operand === undefined) return undefined;
    narrow.terms.push(negated ? { operator, operand, negated } : { operator, operand });
  }
  return narrow;
}

function operandOf(
  operator: string,
  text: string,
  channelId: (name: string) => number | string | undefined,
): Term["operand"] | undefined {
  if (operator === "channel") {
    const id = /^(\d+)(?:-|$)/.exec(text)?.[1];
    return id === undefined ? channelId(decodeOperand(text)) : Number(id);
  }
  if (operator === "dm" || operator === "dm-including") {
    const ids = /^(\d+(?:,\d+)*)(?:-|$)/.exec(text)?.[1];
    return ids === undefined ? decodeOperand(text) : ids.split(",").map(Number);
  }
  if (operator === "sender" && /^\d+(-|$)/.test(text)) return Number.parseInt(text, 10);
  if (operator === "id" && /^\d+$/.test(text)) return Number(text);
  return decodeOperand(text);
}

/** Return a string that is equal for equal narrows, whatever message they are near. */
export function keyOf({ terms }: Narrow): string {
  return JSON.stringify(
    terms.map(({ operator, operand, negated }) => [
      operator,
      Array.isArray(operand) ? [...operand].sort((one, other) => one - other) : operand,
      negated ? 1 : 0,
    ]),
  );
}

/** Operators by which views ask what a narrow is of. */
export type PlainOperator = "channel" | "topic" | "dm" | "is" | "with";

/** Return the operand of the first plain term of an operator. */
export function operandFor(narrow: Narrow, operator: PlainOperator): Term["operand"] | undefined {
  return narrow.terms.find((term) => term.operator === operator && !term.negated)?.operand;
}

export type Conversation =
  | { kind: "topic"; channelId: number; topic: string }
  | { kind: "direct"; userIds: number[] };

/** Return the one conversation that a narrow shows; undefined if it is none or more. */
export function conversationOf(narrow: Narrow): Conversation | undefined {
  const channelId = operandFor(narrow, "channel");
  const topic = operandFor(narrow, "topic");
  if (typeof channelId === "number" && typeof topic === "string" && narrow.terms.length === 2) {
    return { kind: "topic", channelId, topic };
  }
  const people = operandFor(narrow, "dm");
  if (Array.isArray(people) && narrow.terms.length === 1) return { kind: "direct", userIds: people };
  return undefined;
}

export function topicNarrow(channelId: number, topic: string, near?: number): Narrow {
  const terms: Term[] = [
    { operator: "channel", operand: channelId },
    { operator: "topic", operand: topic },
  ];
  return near === undefined ? { terms } : { terms, near };
}

export function channelNarrow(channelId: number): Narrow {
  return { terms: [{ operator: "channel", operand: channelId }] };
}

export function directNarrow(userIds: number[], near?: number): Narrow {
  const terms: Term[] = [{ operator: "dm", operand: userIds }];
  return near === undefined ? { terms } : { terms, near };
}
