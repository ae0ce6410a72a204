/** Commands of bots: which one a text calls, the call, and the answers that the caller alone is shown. */

import { signal } from "@preact/signals";
import { onBatch } from "../../app";
import type { EventOf } from "../../model/events";
import type { Conversation } from "../../model/narrow";
import { fold } from "../../model/names-index";
import type { State } from "../../model/state";
import { post } from "../../protocol/client";
import type { ShownSlashCommand } from "../../protocol/types";

type Answer = EventOf<"slash_command_answer">;

const MAX_ANSWERS = 5;
/** What the server makes of messages that begin so. */
const BUILT_IN = new Set(["me", "poll", "todo"]);

/** The newest answers to commands of the user's, until they are closed. They are no messages, and gone after a reload. */
export const answers = signal<readonly Answer[]>([]);

onBatch((events) => {
  for (const event of events) {
    if (event.type !== "slash_command_answer") continue;
    const others = answers.peek().filter(({ call_id }) => call_id !== event.call_id);
    answers.value = [...others, event].slice(-MAX_ANSWERS);
  }
});

/** Return the conversation in which the command was called that an answer is to. */
export function placeOfAnswer({ stream_id: channelId, topic, user_ids: userIds }: Answer): Conversation {
  return channelId === null ? { kind: "direct", userIds: userIds! } : { kind: "topic", channelId, topic: topic! };
}

export function closeAnswer(answer: Answer): void {
  answers.value = answers.peek().filter((each) => each !== answer);
}

/** Return the command of a bot with which a text begins. */
export function commandOf(state: State, text: string): ShownSlashCommand | undefined {
  const name = /^\s*\/(\S+)/.exec(text)?.[1];
  if (!name) return undefined;
  const folded = fold(name);
  return state.fields.realm_slash_commands?.find((each) => fold(each.name) === folded);
}

/** Return the name with which a text begins as a command does, where there is no such command. */
export function unknownCommandOf(state: State, text: string): string | undefined {
  const name = /^\s*\/([\p{L}\p{N}_-]{1,32})(?=\s|$)/u.exec(text)?.[1];
  return name && !BUILT_IN.has(name) && !commandOf(state, text) ? name : undefined;
}

/**
 * Call a command in a conversation; resolves to the call's id. Rejects with an ApiError or a NetworkError: after the latter it is
 * not known whether the command was called, so it is not repeated.
 */
export async function callCommand(to: Conversation, text: string): Promise<string> {
  const where = to.kind === "direct" ? { type: "direct", to: to.userIds } : { type: "channel", to: to.channelId, topic: to.topic };
  const { call_id } = await post<{ call_id: string }>("/realm/slash_commands/call", { command: text.trim(), ...where });
  return call_id;
}
