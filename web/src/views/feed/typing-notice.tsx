import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { listed, userName } from "../../model/names";
import { conversationOf, type Narrow } from "../../model/narrow";
import { directKey, topicKey } from "../../model/state";
import { watch } from "../../ui/watch";

/** Names that are shown: with more people it only says that several are typing. */
const MAX_NAMES = 3;
const DEFAULT_EXPIRY_MS = 45_000;

/** Return when each person that types in a conversation was last reported to. */
function typistsOf(narrow: Narrow): ReadonlyMap<number, number> {
  const here = conversationOf(narrow);
  const { typing, userId, settings } = state();
  if (!here || settings.receives_typing_notifications === false) return new Map();
  const key = here.kind === "topic" ? topicKey(here.channelId, here.topic) : directKey(here.userIds, userId);
  return typing.get(key) ?? new Map();
}

/** Who is typing in the conversation that is shown. A report without an end expires. */
export function TypingNotice({ narrow }: { narrow: Narrow }) {
  watch("typing", "users", "mutedUsers", "settings");
  const [, redraw] = useState(0);
  const expiry = Number(state().fields.server_typing_started_expiry_period_milliseconds ?? DEFAULT_EXPIRY_MS);
  const now = Date.now();
  const current = [...typistsOf(narrow)].filter(([id, at]) => at + expiry > now && !state().mutedUsers.has(id));
  const nextExpiry = Math.min(...current.map(([, at]) => at + expiry));
  useEffect(() => {
    if (!Number.isFinite(nextExpiry)) return;
    const timer = setTimeout(() => redraw((count) => count + 1), nextExpiry - Date.now());
    return () => clearTimeout(timer);
  }, [nextExpiry]);
  return <p class="typing-notice">{current.length ? textFor(current.map(([id]) => id)) : null}</p>;
}

function textFor(ids: readonly number[]): string {
  if (ids.length > MAX_NAMES) return i18n.t("Several people are typing");
  const names = listed(ids.map((id) => userName(state(), id)));
  return i18n.t("{count, plural, one {{names} is typing} other {{names} are typing}}", { count: ids.length, names });
}
