/** Which messages belong to a narrow, as far as the client can tell. */

import { operandFor, type Narrow, type Term } from "./narrow";
import { participantsKey } from "./reducers/messages";
import { isPinned } from "./pins";
import { directKey, type Message, Policy, type State, topicKey } from "./state";

const MENTIONS = ["mentioned", "stream_wildcard_mentioned", "topic_wildcard_mentioned"];

/** Return whether a message belongs to a narrow; undefined where only the server can tell. */
export function matches(message: Message, terms: readonly Term[], state: State): boolean | undefined {
  if (!terms.length) return !isMuted(message, state);
  let isCertain = true;
  for (const term of terms) {
    const found = matchesTerm(message, term, state);
    if (found === undefined) isCertain = false;
    else if (found === (term.negated ?? false)) return false;
  }
  return isCertain ? true : undefined;
}

/**
 * Return whether a message that was in a narrow has left it: it was moved to another conversation.
 *
 * Flags do not count: messages that are read or unstarred stay until the user leaves.
 */
export function hasLeft(message: Message, terms: readonly Term[], state: State): boolean {
  return terms.some(
    (term) =>
      (term.operator === "channel" || term.operator === "topic") &&
      matchesTerm(message, term, state) === (term.negated ?? false),
  );
}

/** Return whether a message is in a muted conversation, and hidden from the combined feed. */
export function isMuted(message: Message, state: State): boolean {
  if (message.type !== "stream") return false;
  const policy = state.topicPolicies.get(topicKey(message.stream_id!, message.subject))?.visibility_policy;
  if (policy === Policy.MUTED) return true;
  if (policy === Policy.UNMUTED || policy === Policy.FOLLOWED) return false;
  return state.channels.get(message.stream_id!)?.is_muted ?? false;
}

/** Return whether a narrow shows messages of more than one conversation. */
export function isCombined(narrow: Narrow): boolean {
  if (operandFor(narrow, "topic") !== undefined || operandFor(narrow, "with") !== undefined) return false;
  return operandFor(narrow, "dm") === undefined;
}

function matchesTerm(message: Message, { operator, operand }: Term, state: State): boolean | undefined {
  switch (operator) {
    case "channel":
      return typeof operand === "number" ? message.type === "stream" && message.stream_id === operand : undefined;
    case "topic":
      return message.type === "stream" && message.subject.toLowerCase() === String(operand).toLowerCase();
    case "dm":
      if (!Array.isArray(operand)) return undefined;
      return message.type === "private" && participantsKey(message, state.userId) === directKey(operand, state.userId);
    case "dm-including":
      if (!Array.isArray(operand)) return undefined;
      return message.type === "private" && operand.every((id) => takesPart(message, id));
    case "sender":
      return typeof operand === "number" ? message.sender_id === operand : undefined;
    case "id":
      return message.id === operand;
    case "is":
      return matchesIs(message, String(operand), state);
    default:
      return undefined;
  }
}

function takesPart(message: Message, id: number): boolean {
  return (message.display_recipient as { id: number }[]).some((each) => each.id === id);
}

function matchesIs(message: Message, operand: string, state: State): boolean | undefined {
  const { flags } = message;
  switch (operand) {
    case "dm":
    case "private":
      return message.type === "private";
    case "starred":
      return flags.includes("starred");
    case "mentioned":
      return MENTIONS.some((flag) => flags.includes(flag));
    case "alerted":
      return flags.includes("has_alert_word");
    case "unread":
      return !flags.includes("read");
    case "resolved":
      return message.type === "stream" && message.subject.startsWith("✔ ");
    case "pinned":
      // Nothing arrives of other channels than those that the user is in, of which the pins are known.
      return isPinned(state, message);
    case "followed":
      return (
        message.type === "stream" &&
        state.topicPolicies.get(topicKey(message.stream_id!, message.subject))?.visibility_policy === Policy.FOLLOWED
      );
    case "muted":
      return isMuted(message, state);
    default:
      return undefined;
  }
}
