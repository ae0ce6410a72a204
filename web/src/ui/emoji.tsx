import { state } from "../app";
import { charactersOf, type Emoji, imageOf } from "../model/emoji";
import { showsEmojiAsText } from "./emoji-set";
import { watch } from "./watch";

/** An emoji without a name of its own: its element says what it is. */
export function EmojiImage({ emoji }: { emoji: Emoji }) {
  watch("settings");
  const image = imageOf(state(), emoji);
  if (image) return <img class="emoji" src={image} alt="" loading="lazy" />;
  if (showsEmojiAsText()) return <span aria-hidden="true">:{emoji.name}:</span>;
  return <span class="emoji-text" aria-hidden="true">{emoji.type === "unicode_emoji" ? charactersOf(emoji.code) : "❔"}</span>;
}
