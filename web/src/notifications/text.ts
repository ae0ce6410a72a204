/** What a notification of a message says. */

import { i18n } from "../i18n";
import { charactersOf } from "../model/emoji";
import { listed, othersOf, senderName, topicName, userName } from "../model/names";
import type { Message, State } from "../model/state";
import type { NotifiedReaction, ReactionNotificationEvent } from "../protocol/types";
import { parseHtml } from "../ui/trusted";

const MAX_LENGTH = 300;
const BLOCKS = "p, br, li, pre, blockquote, tr, h1, h2, h3, h4, h5, h6, div, hr";

/** Return where a message is, or who talks. */
export function titleOf(state: State, message: Message): string {
  if (message.type === "stream") {
    const channel = state.channels.get(message.stream_id!)?.name ?? String(message.display_recipient);
    return `#${channel} > ${topicName(state, message.subject)}`;
  }
  const others = othersOf(state, message);
  return others.length > 1 ? listed(others.map((id) => userName(state, id))) : senderName(state, message);
}

/** Return the message as plain text, or only that there is one if the person hides direct messages. */
export function bodyOf(state: State, message: Message): string {
  const isPair = message.type === "private" && othersOf(state, message).length === 1;
  const isHidden = message.type === "private" && state.settings.pm_content_in_desktop_notifications === false;
  const text = isHidden ? i18n.t("New message") : plainText(message.content) || i18n.t("New message");
  return isPair ? text : `${senderName(state, message)}: ${text}`;
}

const MAX_NAMES = 3;
const MAX_EMOJI = 10;

/** Return who has reacted with what, and the message itself unless direct messages are hidden. */
export function bodyOfReactions(state: State, event: ReactionNotificationEvent, message: Message): string {
  const isHidden = message.type === "private" && state.settings.pm_content_in_desktop_notifications === false;
  const text = isHidden ? "" : plainText(message.content);
  return text ? `${summaryOf(state, event)}\n${text}` : summaryOf(state, event);
}

/** Return who has reacted with what: each person and each emoji once. */
export function summaryOf(state: State, { reactions, user_count }: ReactionNotificationEvent): string {
  const ids = [...new Set(reactions.map((each) => each.user_id))];
  const names = ids.slice(0, MAX_NAMES).map((id) => userName(state, id));
  const rest = user_count - names.length;
  const emoji = [...new Set(reactions.map(emojiText))];
  const listed = emoji.slice(0, MAX_EMOJI).join(" ") + (emoji.length > MAX_EMOJI ? " …" : "");
  return `${names.join(", ")}${rest > 0 ? `, +${rest}` : ""}: ${listed}`;
}

function emojiText({ reaction_type, emoji_code, emoji_name }: NotifiedReaction): string {
  return reaction_type === "unicode_emoji" ? charactersOf(emoji_code) : `:${emoji_name}:`;
}

/** Return the plain text of a message's HTML: emoji by name, spoilers and formulas without what hides behind. */
function plainText(html: string): string {
  const { body } = parseHtml(html);
  for (const hidden of body.querySelectorAll(".spoiler-content")) hidden.replaceWith("(…)");
  for (const formula of body.querySelectorAll("math")) {
    formula.replaceWith(formula.querySelector("annotation")?.textContent ?? formula.textContent ?? "");
  }
  for (const emoji of body.querySelectorAll("img.emoji")) emoji.replaceWith(emoji.getAttribute("alt") ?? "");
  for (const block of body.querySelectorAll(BLOCKS)) block.after(" ");
  const text = (body.textContent ?? "").replace(/\s+/g, " ").trim();
  const points = Array.from(text);
  return points.length > MAX_LENGTH ? `${points.slice(0, MAX_LENGTH).join("")}…` : text;
}
