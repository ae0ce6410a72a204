/** Links to uploaded files in the text of a message. */

import type { Edit } from "./formatting";

export interface Attachment {
  /** As it stands in the text. */
  link: string;
  name: string;
  url: string;
}

const LINK = /!?\[([^\]\n]*)\]\((\/user_uploads\/[^)\s]+)\)/g;

/** Return the files that a text links, each once, in the order of the text. */
export function attachmentsOf(text: string): Attachment[] {
  const found = new Map<string, Attachment>();
  for (const [link, name, url] of text.matchAll(LINK)) {
    if (!found.has(url!)) found.set(url!, { link, name: name || decodeURI(url!).split("/").at(-1)!, url: url! });
  }
  return [...found.values()];
}

/** Return the edit that takes a link out of a text, with its line if nothing else stands in it. */
export function removal(text: string, link: string): Edit {
  const from = text.indexOf(link);
  const end = from + link.length;
  const isLine = (from === 0 || text[from - 1] === "\n") && text[end] === "\n";
  return { from, to: isLine ? end + 1 : end, insert: "", start: from, end: from };
}
