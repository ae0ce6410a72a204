import { state } from "../app";
import { charactersOf, imageOf } from "../model/emoji";

/** The emoji of a person's status, if there is one. */
export function StatusEmoji({ userId }: { userId: number }) {
  const status = state().statuses.get(userId);
  if (!status?.emoji_code) return null;
  const image = imageOf(state(), { code: status.emoji_code, type: status.reaction_type ?? "unicode_emoji" });
  return (
    <span class="message-status" title={status.status_text}>
      {image ? <img src={image} alt={`:${status.emoji_name}:`} width={16} height={16} /> : charactersOf(status.emoji_code)}
    </span>
  );
}
