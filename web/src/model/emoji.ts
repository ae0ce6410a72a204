/** Emoji as characters or images, and reactions by emoji. */

import type { Reaction, State } from "./state";

export interface Emoji {
  name: string;
  code: string;
  /** `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`. */
  type: string;
}

/** The emoji that is the server's own; messages and reactions have its image by this path. */
export const SERVICE_IMAGE = "/static/generated/emoji/images/emoji/unicode/zulip.png";

/** Return the characters of code points in hexadecimal, joined by hyphens. */
export function charactersOf(code: string): string {
  const points = code.split("-").map((each) => Number.parseInt(each, 16));
  if (points.some((each) => !(each > 0 && each <= 0x10ffff))) return "";
  const text = String.fromCodePoint(...points);
  // Symbols that are text by default are asked for as emoji.
  return points.length === 1 && points[0]! < 0x1f000 ? `${text}\ufe0f` : text;
}

/** Return the address of an emoji's image; undefined for those of Unicode. */
export function imageOf(state: State, { code, type }: Pick<Emoji, "code" | "type">): string | undefined {
  if (type === "zulip_extra_emoji") return SERVICE_IMAGE;
  if (type !== "realm_emoji") return undefined;
  const emoji = state.fields.realm_emoji?.[code];
  return emoji?.still_url && matchMedia("(prefers-reduced-motion: reduce)").matches ? emoji.still_url : emoji?.source_url;
}

export interface ReactionGroup extends Emoji {
  userIds: number[];
}

/** Return the reactions of a message by emoji, in the order in which each was first given. */
export function grouped(reactions: readonly Reaction[]): ReactionGroup[] {
  const groups = new Map<string, ReactionGroup>();
  for (const { emoji_name, emoji_code, reaction_type, user_id } of reactions) {
    const key = `${reaction_type},${emoji_code}`;
    const group = groups.get(key);
    if (group) group.userIds.push(user_id);
    else groups.set(key, { name: emoji_name, code: emoji_code, type: reaction_type, userIds: [user_id] });
  }
  return [...groups.values()];
}
