import { state } from "../app";
import { charactersOf, imageOf } from "../model/emoji";
import { showsEmojiAsText } from "./emoji-set";
import { watch } from "./watch";

/** The emoji of a person's status, if there is one. */
export function StatusEmoji({ userId }: { userId: number }) {
  watch("settings");
  const status = state().statuses.get(userId);
  if (!status?.emoji_code) return null;
  const image = imageOf(state(), { code: status.emoji_code, type: status.reaction_type ?? "unicode_emoji" });
  const name = `:${status.emoji_name}:`;
  return (
    <span class="message-status" role="img" aria-label={name} title={status.status_text || name}>
      {image ? <img src={image} alt="" width={16} height={16} /> : showsEmojiAsText() ? name : charactersOf(status.emoji_code)}
    </span>
  );
}
