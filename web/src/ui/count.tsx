import { i18n } from "../i18n";
import type { Count } from "../model/counts";

/** The number of unread messages at the end of a link's name. */
export function UnreadCount({ of, isFaded = false }: { of: Count | number; isFaded?: boolean }) {
  const { unread, isMentioned } = typeof of === "number" ? { unread: of, isMentioned: false } : of;
  if (!unread && !isMentioned) return null;
  return (
    <>
      {unread ? <span class="visually-hidden">{i18n.t(", {unread} unread", { unread })}</span> : null}
      {isMentioned ? <span class="visually-hidden">{i18n.t(", mentions you")}</span> : null}
      <span class={`count${isFaded ? " faded" : ""}${isMentioned ? " mentioned" : ""}`} aria-hidden="true">
        {isMentioned ? "@" : ""}
        {unread ? (unread > 999 ? "999+" : unread) : ""}
      </span>
    </>
  );
}
