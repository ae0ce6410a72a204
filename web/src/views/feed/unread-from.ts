import { i18n } from "../../i18n";
import { keyOf, type Narrow } from "../../model/narrow";
import type { Message } from "../../model/state";
import { ground } from "../../router";
import { attempt, toast } from "../../ui/toast";
import { markUnreadFrom } from "./reading";
import { signal } from "@preact/signals";

/** The message from which a narrow was marked as unread, and the narrow. */
export const markedUnread = signal<{ key: string; id: number } | undefined>(undefined);

/** Mark a message, and those after it in the narrow that is shown, as unread until the user leaves. */
export function unreadFrom(message: Message): void {
  const here = ground.value;
  const narrow: Narrow = here.kind === "narrow" ? here.narrow : { terms: [] };
  const key = keyOf(narrow);
  void attempt(async () => {
    markedUnread.value = { key, id: message.id };
    const left = await markUnreadFrom(narrow, key, message.id);
    if (left.length) toast(i18n.t("Messages of channels that you are not subscribed to stay read."));
  });
}
