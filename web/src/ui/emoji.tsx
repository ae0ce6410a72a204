import { state } from "../app";
import { charactersOf, type Emoji, imageOf } from "../model/emoji";

/** An emoji without a name of its own: its element says what it is. */
export function EmojiImage({ emoji }: { emoji: Pick<Emoji, "code" | "type"> }) {
  const image = imageOf(state(), emoji);
  if (image) return <img class="emoji" src={image} alt="" loading="lazy" />;
  return <span class="emoji-text" aria-hidden="true">{emoji.type === "unicode_emoji" ? charactersOf(emoji.code) : "❔"}</span>;
}
