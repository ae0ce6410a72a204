/** Messages that are being sent, and how they look until the server has rendered them. */

import { type Conversation } from "./narrow";
import { directKey, type Message, type State, topicKey } from "./state";

/**
 * How far a send has come.
 *
 * - `sending`: on its way, or behind an earlier message of its conversation;
 * - `waiting`: the server could not be reached or was busy; it is tried again by itself;
 * - `failed`: it is not tried again unless asked to; `error` says why;
 * - `sent`: the server has it, and its event is about to arrive.
 */
export type SendStatus = "sending" | "waiting" | "failed" | "sent";

export interface Outgoing {
  /** The client's own id, which the server repeats in the event (`local_message_id`). */
  readonly localId: string;
  readonly to: Conversation;
  /** Markdown, as it was written. */
  readonly content: string;
  /** When it was written, in milliseconds. */
  readonly createdAt: number;
  status: SendStatus;
  /** Why it is not sent (yet), as a sentence for people. */
  error?: string;
  /** The id of the message, once the server has accepted it. */
  messageId?: number;
}

/** Return the key of a conversation: messages of one are sent in their order. */
export function conversationKey(to: Conversation, self: number): string {
  return to.kind === "topic" ? topicKey(to.channelId, to.topic) : directKey(to.userIds, self);
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Return text as plain paragraphs of HTML. */
export function plainHtml(text: string): string {
  const escaped = text.trim().replace(/[&<>"']/g, (each) => ESCAPES[each]!);
  const paragraphs = escaped.split(/\n[^\S\n]*\n\s*/);
  return paragraphs.map((each) => `<p>${each.replace(/\n/g, "<br>\n")}</p>`).join("\n");
}

/**
 * Return a message to show for one that is being sent.
 *
 * Its id is negative, and no message of the server has the same.
 */
export function echoOf(outgoing: Outgoing, id: number, state: State): Message {
  const { to } = outgoing;
  const self = state.users.get(state.userId);
  const person = (userId: number) => {
    const user = state.users.get(userId);
    return { id: userId, full_name: user?.full_name ?? "", email: user?.email ?? "" };
  };
  return {
    id,
    type: to.kind === "topic" ? "stream" : "private",
    sender_id: state.userId,
    sender_full_name: self?.full_name ?? "",
    sender_email: self?.email ?? "",
    avatar_url: self?.avatar_url ?? null,
    content: plainHtml(outgoing.content),
    timestamp: Math.floor(outgoing.createdAt / 1000),
    ...(to.kind === "topic" ? { stream_id: to.channelId } : {}),
    subject: to.kind === "topic" ? to.topic : "",
    display_recipient:
      to.kind === "topic"
        ? (state.channels.get(to.channelId)?.name ?? "")
        : [...new Set([...to.userIds, state.userId])].map(person),
    flags: ["read"],
    reactions: [],
    submessages: [],
    is_me_message: false,
    client: "website",
    topic_links: [],
  };
}
