/** Mentions that an edit has added: who was not named when the message was sent has not been notified. */

import { isInGroup } from "../model/permissions";
import type { Message, State } from "../model/state";
import type { UpdateMessageEvent } from "../protocol/types";

const TAG = /<span class="(?:user|user-group|topic)-mention[^"]*"[^>]*>/g;

/** Return whether rendered content mentions a person: by name, by a group or with all others; silent mentions do not count. */
export function mentions(state: State, html: string): boolean {
  return (html.match(TAG) ?? []).some((tag) => {
    if (/class="[^"]*\bsilent\b/.test(tag)) return false;
    const group = /data-user-group-id="(\d+)"/.exec(tag)?.[1];
    if (group !== undefined) return isInGroup(state, Number(group), state.userId);
    const user = /data-user-id="([^"]*)"/.exec(tag)?.[1];
    return user === undefined || user === "*" || Number(user) === state.userId;
  });
}

/** Return whether an edit mentions one who was not mentioned before. Direct messages have been notified of as such. */
export function mentionsAnew(state: State, event: Partial<UpdateMessageEvent>): boolean {
  if (event.rendering_only || event.stream_id === undefined || event.rendered_content === undefined) return false;
  const isMentioned = (event.flags ?? []).some((flag) => flag === "mentioned" || flag.endsWith("wildcard_mentioned"));
  return isMentioned && !mentions(state, event.orig_rendered_content ?? "");
}

/** Return the message of an edit as it is now: `known` where it is loaded, else what `fetch` finds. */
export async function editedMessage(
  event: Pick<UpdateMessageEvent, "message_id" | "flags">,
  known: Message | undefined,
  fetch: (id: number) => Promise<Message>,
): Promise<Message | undefined> {
  try {
    const message = known ?? (await fetch(event.message_id));
    return { ...message, flags: event.flags };
  } catch {
    // It was deleted, or the server is away: there is nothing to show.
    return undefined;
  }
}
