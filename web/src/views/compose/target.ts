/**
 * What is being written to, and what other parts of the page ask of the compose box.
 *
 * The feed calls `reply` and `quote`, the left side `startTopic` and `startDirect`, the keyboard
 * all of them. The box follows: it shows `target`, and carries out `request`.
 */

import { signal } from "@preact/signals";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { conversationOf, directNarrow, type Narrow, operandFor, type PlainOperator, topicNarrow } from "../../model/narrow";
import { directKey, type Message, topicKey } from "../../model/state";
import { get } from "../../protocol/client";
import { addressOf, ground } from "../../router";

export type Target =
  | { kind: "topic"; channelId: number | undefined; topic: string }
  | { kind: "direct"; userIds: number[] };

export type Field = "Channel" | "Topic" | "People" | "Message";

/** What is being written to; undefined while the box is closed. */
export const target = signal<Target | undefined>(undefined);

/** What the box is asked to do next; it takes each request once. */
export type Request =
  | { kind: "focus"; field: Field }
  /** Insert text at the caret; a block stands on lines of its own. */
  | { kind: "insert"; text: string; asBlock?: boolean };

export const requests = signal<readonly Request[]>([]);

function ask(...asked: Request[]): void {
  requests.value = [...requests.value, ...asked];
}

/** Take the requests that were not carried out yet. */
export function takeRequests(): readonly Request[] {
  const taken = requests.peek();
  if (taken.length) requests.value = [];
  return taken;
}

/** Return a string that is equal for targets that are one conversation. */
export function targetKey(to: Target): string {
  if (to.kind === "topic") return `topic:${topicKey(to.channelId ?? 0, to.topic)}`;
  return to.userIds.length ? `direct:${directKey(to.userIds, state().userId)}` : "direct:";
}

export function isSame(one: Target | undefined, other: Target | undefined): boolean {
  return one === other || (one !== undefined && other !== undefined && targetKey(one) === targetKey(other));
}

/** Return the narrow of a target, as far as it names one. */
export function narrowOf(to: Target): Narrow | undefined {
  if (to.kind === "direct") return to.userIds.length ? directNarrow(to.userIds) : undefined;
  return to.channelId === undefined ? undefined : topicNarrow(to.channelId, to.topic);
}

/** Return what is written to by default where a narrow is shown. */
export function targetOfNarrow(narrow: Narrow): Target | undefined {
  const one = conversationOf(narrow);
  if (one?.kind === "direct") return { kind: "direct", userIds: one.userIds.filter((id) => state().users.has(id)) };
  if (one) return one;
  const channelId = operandFor(narrow, "channel");
  if (typeof channelId !== "number") return undefined;
  const topic = operandFor(narrow, "topic");
  return { kind: "topic", channelId, topic: typeof topic === "string" ? topic : "" };
}

/** Return the target that belongs to the view that is shown. */
export function targetOfGround(): Target | undefined {
  const here = ground.value;
  return here.kind === "narrow" ? targetOfNarrow(here.narrow) : undefined;
}

/** Return the conversation of a message, for writing to it. */
export function targetOfMessage(message: Message): Target {
  if (message.type === "stream") return { kind: "topic", channelId: message.stream_id, topic: message.subject };
  const people = (message.display_recipient as { id: number }[]).map((each) => each.id);
  const self = state().userId;
  const others = people.filter((id) => id !== self);
  return { kind: "direct", userIds: others.length ? others : [self] };
}

/** Write to a conversation: the box opens, with the caret in a field. */
export function open(to: Target, field: Field = "Message"): void {
  if (!isSame(target.peek(), to)) target.value = to;
  ask({ kind: "focus", field });
}

/** Change the recipients of what is being written: the text stays. */
export function retarget(to: Target): void {
  edited = to;
  target.value = to;
}

/** Return whether a target came about by changing recipients, not by turning to another conversation. */
export function isRetargeted(to: Target | undefined): boolean {
  return to !== undefined && to === edited;
}

let edited: Target | undefined;

/** Close the box, or return to the conversation that is shown. What was written stays a draft. */
export function close(): void {
  target.value = targetOfGround();
}

/** Begin a topic: in the channel that is shown, or in one to be chosen. */
export function startTopic(channelId = channelOfGround(), topic = ""): void {
  open({ kind: "topic", channelId, topic }, channelId === undefined ? "Channel" : topic ? "Message" : "Topic");
}

function channelOfGround(): number | undefined {
  const to = targetOfGround();
  return to?.kind === "topic" ? to.channelId : undefined;
}

/** Begin a direct message with these people, or people to be chosen. */
export function startDirect(userIds: number[] = []): void {
  open({ kind: "direct", userIds }, userIds.length ? "Message" : "People");
}

/** Write to the conversation that is shown (`c`): where it is a channel, in a topic to be named. */
export function compose(): void {
  const to = target.peek() ?? targetOfGround();
  if (!to) return startTopic();
  const isNew = to.kind === "topic" && to.topic === "" && operandOfGround("topic") === undefined;
  open(to, isNew ? (to.channelId === undefined ? "Channel" : "Topic") : "Message");
}

function operandOfGround(operator: PlainOperator): unknown {
  const here = ground.value;
  return here.kind === "narrow" ? operandFor(here.narrow, operator) : undefined;
}

/** Reply in the message's conversation. */
export function reply(message: Message): void {
  open(targetOfMessage(message));
}

/** Reply to the message's sender alone. */
export function replyPrivately(message: Message): void {
  open({ kind: "direct", userIds: [message.sender_id] });
}

/** Insert text at the caret, and open the box if it is closed. */
export function insert(text: string, asBlock = false): void {
  if (!target.peek()) compose();
  ask({ kind: "insert", text, asBlock });
}

/** Return a fence that no line of the text closes. */
export function fenceFor(text: string, least = 3): string {
  const longest = Math.max(0, ...[...text.matchAll(/^ {0,3}(`{3,})/gm)].map((found) => found[1]!.length));
  return "`".repeat(Math.max(least, longest + 1));
}

/** Reply, with the message quoted. Rejects with an ApiError or a NetworkError. */
export async function quote(message: Message): Promise<void> {
  const to = targetOfMessage(message);
  // The text is fetched first: a message may have been changed, or be gone.
  const { message: source } = await get<{ message: Message }>(`/messages/${message.id}`, {
    apply_markdown: false,
    allow_empty_topic_name: true,
  });
  const narrow = narrowOf(to)!;
  const link = `${String(state().fields.realm_url ?? "")}/${addressOf({ ...narrow, near: message.id })}`;
  const sender = `@_**${message.sender_full_name}|${message.sender_id}**`;
  const fence = fenceFor(source.content);
  if (!target.peek() || !hasText.value) open(to);
  ask({
    kind: "insert",
    text: `${i18n.t("{sender} [said]({link}):", { sender, link })}\n${fence}quote\n${source.content}\n${fence}\n`,
    asBlock: true,
  });
  ask({ kind: "focus", field: "Message" });
}

/** Whether something is written. A quotation is then added to it rather than begun elsewhere. */
export const hasText = signal(false);
