/** Edit one's last message from the empty compose box. */

import { feeds, outbox, state } from "../../app";
import { canEditContent } from "../../model/message-permissions";
import type { Narrow } from "../../model/narrow";
import type { Message } from "../../model/state";
import { get } from "../../protocol/client";
import { addressOf, go, ground } from "../../router";
import { attempt } from "../../ui/toast";
import { edit } from "./actions";

/** Return the narrow that is shown, if messages are. */
function shownNarrow(): Narrow | undefined {
  const here = ground.peek();
  if (here.kind === "narrow") return here.narrow;
  return here.view === "feed" ? { terms: [] } : undefined;
}

/** Return the user's last message of a narrow, from what is shown or from the server. */
async function lastOwn(narrow: Narrow): Promise<Message | undefined> {
  const { messages, userId } = state();
  const feed = feeds.open({ terms: narrow.terms });
  const id = feed.isLoaded && feed.foundNewest ? feed.ids.findLast((each) => messages.get(each)?.sender_id === userId) : undefined;
  if (id !== undefined) return messages.get(id);
  const answer = await get<{ messages: Message[] }>("/messages", {
    narrow: [...narrow.terms.map((term) => ({ ...term })), { operator: "sender", operand: userId }],
    anchor: "newest",
    num_before: 1,
    num_after: 0,
    allow_empty_topic_name: true,
    client_gravatar: false,
  });
  return answer.messages.at(-1);
}

/**
 * Edit the user's last message of the narrow that is shown, if it may be edited.
 *
 * No earlier one is edited in its place: what the user has just written is meant.
 */
export function editLast(): boolean {
  const narrow = shownNarrow();
  if (!narrow || outbox.pending(narrow).length) return false;
  void attempt(async () => {
    const message = await lastOwn(narrow);
    const isHere = addressOf({ terms: narrow.terms }) === addressOf({ terms: shownNarrow()?.terms ?? [] });
    if (!message || !isHere || !canEditContent(state(), message, Date.now())) return;
    edit(message);
    if (!document.querySelector(`[data-message-id="${message.id}"]`)) go(addressOf({ terms: narrow.terms, near: message.id }), { replace: true });
  });
  return true;
}
