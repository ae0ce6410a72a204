/** Send what is written, by the outbox: what cannot be sent now stays there with "try again". */

import { signal } from "@preact/signals";
import { outbox, state } from "../../app";
import { i18n } from "../../i18n";
import type { Conversation } from "../../model/narrow";
import { addressOf, go, ground } from "../../router";
import { ApiError, NetworkError } from "../../protocol/client";
import { callCommand, commandOf, unknownCommandOf } from "./commands";
import { content, take, writeOn } from "./composition";
import { hasConversation } from "./begun";
import { cleanTopic, contentRefusal, type Refusal, targetRefusal, wildcardAudience, wildcardRefusal } from "./rules";
import { narrowOf, isSame, open, type Target, target, targetOfGround } from "./target";
import { waitsForUploads } from "./upload-list";

/** A failure of an action of the box, as the banner above it says. */
export const problem = signal<string | undefined>(undefined);
/** Whether the user has tried to send a message that cannot be sent: the banner says why until it can. */
export const isRefused = signal(false);
/** The text for which it is asked whether it is meant so: why, as a sentence. */
export const confirming = signal<{ text: string; question: string } | undefined>(undefined);

/** What is said above the box about what was done. */
export const notice = signal<{ text: string; link?: string; label?: string; callId?: string } | undefined>(undefined);

const REPEATED_WITHIN_MS = 1_000;
/** When a message was last sent from the box. */
let sentAt = 0;
content.subscribe((text) => {
  if (text) sentAt = 0;
});

/** Return why what is written cannot be sent now; undefined if it can. */
export function refusal(to: Target | undefined, text: string): Refusal | undefined {
  if (!to) return { reason: i18n.t("Choose a conversation first.") };
  return (
    targetRefusal(state(), to, hasConversation) ??
    contentRefusal(state(), text) ??
    wildcardRefusal(state(), to, text) ??
    (waitsForUploads(text) ? { reason: i18n.t("Wait until all files are uploaded."), field: "Message" as const } : undefined)
  );
}

/** Send the message, or say why it cannot be sent. Returns whether it was sent. */
export function send(): boolean {
  const to = target.peek();
  const text = content.peek();
  // The second of two quick keys or clicks finds an empty box.
  if (!text.trim() && Date.now() - sentAt < REPEATED_WITHIN_MS) return true;
  const refused = refusal(to, text);
  if (refused || !to) {
    isRefused.value = true;
    if (refused?.field && to) open(to, refused.field);
    return false;
  }
  const command = commandOf(state(), text);
  if (command) {
    void call(command.name, to, text);
    return true;
  }
  const question = questionOf(to, text);
  if (question && confirming.peek()?.text !== text) {
    confirming.value = { text, question };
    return false;
  }
  clearNotices();
  const sentTo = conversationOf(to);
  sentAt = Date.now();
  take();
  outbox.send({ to: sentTo, content: text.trimEnd() });
  showWhereItWent(sentTo);
  return true;
}

/** Return what is to be confirmed before the text is sent. */
function questionOf(to: Target, text: string): string | undefined {
  const command = unknownCommandOf(state(), text);
  if (command) return i18n.t("There is no command /{command}: this would be a message for all readers.", { command });
  const count = wildcardAudience(state(), to, text);
  return count ? i18n.t("This notifies {count, plural, one {# person} other {# people}}.", { count }) : undefined;
}

/** Call a command of a bot. What could not be called is in the box again. */
async function call(name: string, to: Target, text: string): Promise<void> {
  clearNotices();
  sentAt = Date.now();
  take();
  try {
    const callId = await callCommand(conversationOf(to), text);
    notice.value = { text: i18n.t("/{name} was called.", { name }), callId };
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof NetworkError)) throw error;
    writeOn(to, text);
    problem.value = error.message;
  }
}

function conversationOf(to: Target): Conversation {
  if (to.kind === "direct") return to;
  return { kind: "topic", channelId: to.channelId!, topic: cleanTopic(state(), to.topic) };
}

/** Turn to the conversation, if the person's settings say so. */
function showWhereItWent(to: Target): void {
  if (isSame(to, targetOfGround())) return;
  const narrow = narrowOf(to);
  const isShownAlready = ground.value.kind === "view" && ground.value.view === "feed";
  if (narrow && !isShownAlready && state().settings.web_navigate_to_sent_message !== false) go(addressOf(narrow));
}

/** Clear the notices about the text before: the user has gone elsewhere. */
export function clearNotices(): void {
  isRefused.value = false;
  problem.value = undefined;
  notice.value = undefined;
  confirming.value = undefined;
}
