/** Addresses of messages that are elsewhere now. */

import { state } from "../../app";
import { conversationOf, type Narrow, topicNarrow } from "../../model/narrow";
import type { Message } from "../../model/state";
import { get } from "../../protocol/client";
import { addressOf, go, place } from "../../router";

/** Go to the message that a narrow is near, where it was moved out of the topic of the narrow. */
export async function followMoved(narrow: Narrow): Promise<void> {
  const { near } = narrow;
  const here = conversationOf(narrow);
  if (near === undefined || here?.kind !== "topic") return;
  const found = await get<{ message: Message }>(`/messages/${near}`, { allow_empty_topic_name: true }).catch(() => undefined);
  const shown = place.peek();
  const isShown = shown.kind === "narrow" && shown.narrow === narrow;
  if (found?.message.type !== "stream" || !isShown) return;
  const { stream_id: channelId = here.channelId, subject } = found.message;
  const isHere = channelId === here.channelId && subject.toLowerCase() === here.topic.toLowerCase();
  if (!isHere && state().channels.has(channelId)) go(addressOf(topicNarrow(channelId, subject, near)), { replace: true });
}
