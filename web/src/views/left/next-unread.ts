/** Go to the next conversation with unread messages: mentions first, then topics, then people. */

import { state } from "../../app";
import { isDirectMuted, isTopicMuted, subscribedChannels } from "../../model/counts";
import { conversationOf, directNarrow, type Narrow, topicNarrow } from "../../model/narrow";
import { directKey, idsOfKey, topicKey } from "../../model/state";
import { addressOf, go, ground } from "../../router";

interface Unread {
  key: string;
  narrow: Narrow;
}

function unreadConversations(): Unread[] {
  const { unread } = state();
  const found: Unread[] = [];
  for (const key of unread.directs.keys()) {
    const ids = idsOfKey(key);
    if (!isDirectMuted(state(), ids)) found.push({ key, narrow: directNarrow(ids) });
  }
  for (const { stream_id: id } of subscribedChannels(state())) {
    for (const { topic } of unread.topics.get(id)?.values() ?? []) {
      if (!isTopicMuted(state(), id, topic)) found.push({ key: topicKey(id, topic), narrow: topicNarrow(id, topic) });
    }
  }
  return found;
}

export function goToNextUnread(): void {
  const all = unreadConversations();
  const here = ground.value;
  const current = here.kind === "narrow" ? conversationOf(here.narrow) : undefined;
  const key = current && (current.kind === "direct" ? directKey(current.userIds, state().userId) : topicKey(current.channelId, current.topic));
  const index = all.findIndex((each) => each.key === key);
  const next = all[(index + 1) % all.length];
  if (next && next.key !== key) go(addressOf(next.narrow));
}
