import { i18n } from "../i18n";
import type { Count } from "../model/counts";

/** Return the accessible name of a link to a conversation: its name, then what is unread there. */
export function nameWithUnread(name: string, of: Count | number): string {
  const { unread, isMentioned } = typeof of === "number" ? { unread: of, isMentioned: false } : of;
  const counted = unread ? i18n.t("{name}, {unread} unread", { name, unread }) : name;
  return isMentioned ? i18n.t("{counted}, mentions you", { counted }) : counted;
}

/** The number of unread messages at the end of a link; `nameWithUnread` makes the link's name. */
export function UnreadCount({ of, isFaded = false }: { of: Count | number; isFaded?: boolean }) {
  const { unread, isMentioned } = typeof of === "number" ? { unread: of, isMentioned: false } : of;
  if (!unread && !isMentioned) return null;
  return (
    <>
      {/* Set apart from the name: what is seen is a part of what is said. */}{" "}
      {isMentioned ? <span class="count mentioned" aria-hidden="true">@</span> : null}
      {unread ? <span class={isFaded ? "count faded" : "count"} aria-hidden="true">{unread > 999 ? "999+" : unread}</span> : null}
    </>
  );
}
