/** What is pasted: rich text as Markdown, an address over a selection as a link. */

import { load } from "../../ui/lazy";
import { parseHtml } from "../../ui/trusted";
import { insertion } from "./formatting";
import type { TextBox } from "./textarea";

const ADDRESS = /^https?:\/\/\S+$/;
const RICH =
  /<(?:a\s|b|strong|i|em|s|del|code|pre|ul|ol|table|blockquote|h[1-6]|img)|class="[^"]*(?:emoji|user-mention|katex)|font-weight:\s*(?:bold|[6-9]00)|font-style:\s*italic/i;

/** Take over a paste that the browser would insert as plain text. Ctrl+Shift+V stays plain. */
export function pasted(event: ClipboardEvent, box: TextBox): void {
  const data = event.clipboardData;
  if (!data) return;
  const plain = data.getData("text/plain");
  const { text, start, end } = box.selection();
  const selected = text.slice(start, end);
  if (selected && ADDRESS.test(plain.trim()) && !/[[\]\n]/.test(selected) && !ADDRESS.test(selected)) {
    event.preventDefault();
    box.apply(insertion(text, start, end, `[${selected}](${plain.trim()})`));
    return;
  }
  const html = data.getData("text/html");
  // Editors of code give HTML with colours for what is plain text.
  if (!html || !RICH.test(html) || data.types.includes("vscode-editor-data")) return;
  event.preventDefault();
  void insertRich(html, plain, box);
}

async function insertRich(html: string, plain: string, box: TextBox): Promise<void> {
  let markdown = plain;
  try {
    const { markdownOf } = await load(() => import("./html-to-markdown"));
    markdown = markdownOf(parseHtml(html).body) || plain;
  } catch {
    // The text alone is better than nothing.
  }
  const { text, start, end } = box.selection();
  box.apply(insertion(text, start, end, markdown));
}
