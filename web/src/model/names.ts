/** What people, topics and conversations are called. */

import { i18n } from "../i18n";
import type { Message, State } from "./state";

export const RESOLVED_PREFIX = "✔ ";

export function userName(state: State, userId: number): string {
  return state.users.get(userId)?.full_name ?? i18n.t("Unknown user");
}

/** Return the name of a topic as people read it: the empty one has a name of its own. */
export function topicName(state: State, topic: string): string {
  return topic || emptyTopicName(state);
}

/** Return the name of the empty topic: the protocol's own in the language of the page, another one as it is set. */
export function emptyTopicName({ fields }: State): string {
  const name = String(fields.realm_empty_topic_display_name || "general chat");
  return name === "general chat" ? i18n.t("general chat") : name;
}

export function isResolved(topic: string): boolean {
  return topic.startsWith(RESOLVED_PREFIX);
}

/** Return the name of a message's sender: the present one where it is known. */
export function senderName(state: State, message: Message): string {
  return state.users.get(message.sender_id)?.full_name ?? message.sender_full_name;
}

/** Return the ids of those who take part in a direct message, without the user unless alone. */
export function othersOf(state: State, message: Message): number[] {
  const ids = (message.display_recipient as { id: number }[]).map((each) => each.id);
  const others = ids.filter((id) => id !== state.userId);
  return others.length ? others : ids;
}

/** Join names as a list of the language. */
export function listed(names: readonly string[]): string {
  return new Intl.ListFormat(i18n.locale, { type: "conjunction" }).format(names);
}
