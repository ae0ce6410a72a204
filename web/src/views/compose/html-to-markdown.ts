/**
 * Markdown of rich text, for pasting.
 *
 * Works on any tree that looks like one of the DOM. What has no form in Markdown stays as text.
 */

/** The part of a DOM node that is read. */
export interface HtmlNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly childNodes: ArrayLike<HtmlNode>;
  getAttribute?(name: string): string | null;
}

const ELEMENT = 1;
const TEXT = 3;
const SKIPPED = new Set(["SCRIPT", "STYLE", "HEAD", "META", "TITLE", "TEMPLATE", "NOSCRIPT", "BUTTON", "SVG", "TIME-ZONE"]);
const BLOCKS = new Set(
  "ADDRESS ARTICLE ASIDE BLOCKQUOTE BODY DD DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION TABLE UL".split(" "),
);

interface Context {
  /** Whether marks of this kind are around: they are not written twice. */
  isBold: boolean;
  isItalic: boolean;
  isStruck: boolean;
  isLink: boolean;
}

const PLAIN: Context = { isBold: false, isItalic: false, isStruck: false, isLink: false };

function attribute(node: HtmlNode, name: string): string {
  return node.getAttribute?.(name) ?? "";
}

function children(node: HtmlNode): HtmlNode[] {
  return Array.from(node.childNodes);
}

function hasClass(node: HtmlNode, name: string): boolean {
  return attribute(node, "class").split(/\s+/).includes(name);
}

/** Return the text with what would be read as Markdown escaped, where that is likely. */
function escaped(text: string): string {
  return text.replace(/([*`\\])/g, "\\$1").replace(/^(\s*)([-+>#])(?=\s)/gm, "$1\\$2");
}

/** Put marks around a text, inside of the blanks at its ends. */
function marked(text: string, mark: string): string {
  const trimmed = text.trim();
  if (!trimmed) return text;
  const lead = text.slice(0, text.length - text.trimStart().length);
  const tail = text.slice(text.trimEnd().length);
  return `${lead}${mark}${trimmed}${mark}${tail}`;
}

function codeSpan(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map((found) => found[0].length));
  const mark = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${mark}${pad}${text}${pad}${mark}`;
}

function inlineOf(nodes: readonly HtmlNode[], context: Context): string {
  return nodes.map((each) => inline(each, context)).join("");
}

function inline(node: HtmlNode, context: Context): string {
  if (node.nodeType === TEXT) return escaped((node.textContent ?? "").replace(/[ \t\r\n]+/g, " "));
  if (node.nodeType !== ELEMENT || SKIPPED.has(node.nodeName.toUpperCase())) return "";
  const special = ofMessages(node);
  if (special !== undefined) return special;
  const style = attribute(node, "style").replace(/\s+/g, "").toLowerCase();
  switch (node.nodeName.toUpperCase()) {
    case "BR":
      return "\n";
    case "B":
    case "STRONG":
      // Documents of some word processors are wholly within a <b> that is not bold.
      if (style.includes("font-weight:normal")) return inlineOf(children(node), context);
      return bold(node, context);
    case "I":
    case "EM":
      return italic(node, context);
    case "S":
    case "DEL":
    case "STRIKE":
      return context.isStruck ? inlineOf(children(node), context) : marked(inlineOf(children(node), { ...context, isStruck: true }), "~~");
    case "CODE":
    case "TT":
    case "KBD":
    case "SAMP":
      return node.textContent ? codeSpan(node.textContent.replace(/\s+/g, " ")) : "";
    case "A":
      return anchor(node, context);
    case "IMG":
      return picture(node);
    case "SPAN":
    case "FONT":
      if (/font-weight:(?:bold|[6-9]00)/.test(style)) return bold(node, context);
      if (style.includes("font-style:italic")) return italic(node, context);
      return inlineOf(children(node), context);
    default:
      return inlineOf(children(node), context);
  }
}

function bold(node: HtmlNode, context: Context): string {
  const inner = inlineOf(children(node), { ...context, isBold: true });
  return context.isBold ? inner : marked(inner, "**");
}

function italic(node: HtmlNode, context: Context): string {
  const inner = inlineOf(children(node), { ...context, isItalic: true });
  return context.isItalic ? inner : marked(inner, "*");
}

/** Return the source of what only messages have: mentions, emoji, formulas, times. */
function ofMessages(node: HtmlNode): string | undefined {
  const title = attribute(node, "title");
  if (hasClass(node, "emoji")) {
    const alt = attribute(node, "alt") || (node.textContent ?? "");
    return /^:[\w+-]+:$/.test(alt) ? alt : title ? `:${title.replace(/ /g, "_")}:` : alt;
  }
  if (hasClass(node, "user-mention")) {
    const id = attribute(node, "data-user-id");
    const name = (node.textContent ?? "").replace(/^@/, "");
    // What is pasted notifies nobody again.
    return /^\d+$/.test(id) ? `@_**${name}|${id}**` : name;
  }
  if (hasClass(node, "user-group-mention")) return `@_*${(node.textContent ?? "").replace(/^@/, "")}*`;
  if (hasClass(node, "katex") || hasClass(node, "katex-display")) {
    const source = find(node, (each) => each.nodeName.toUpperCase() === "ANNOTATION")?.textContent?.trim();
    return source === undefined ? undefined : `$$${source}$$`;
  }
  if (node.nodeName.toUpperCase() === "TIME" && attribute(node, "datetime")) return `<time:${attribute(node, "datetime")}>`;
  return undefined;
}

function find(node: HtmlNode, isWanted: (node: HtmlNode) => boolean): HtmlNode | undefined {
  for (const child of children(node)) {
    const found = isWanted(child) ? child : find(child, isWanted);
    if (found) return found;
  }
  return undefined;
}

function anchor(node: HtmlNode, context: Context): string {
  const inner = inlineOf(children(node), { ...context, isLink: true });
  const address = attribute(node, "href");
  if (context.isLink || !/^(?:https?:|mailto:|tel:)/i.test(address) || !inner.trim()) return inner;
  const plain = (node.textContent ?? "").trim();
  if (plain === address || `mailto:${plain}` === address) return plain;
  const trimmed = inner.trim().replace(/\n+/g, " ").replace(/[[\]]/g, "\\$&");
  return inner.replace(inner.trim(), () => `[${trimmed}](${address.replace(/[()\s]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`)})`);
}

function picture(node: HtmlNode): string {
  const address = attribute(node, "src");
  const alt = attribute(node, "alt").replace(/[[\]\n]/g, " ").trim();
  if (!/^https?:/i.test(address)) return alt;
  return `[${alt || address.split("/").pop() || "image"}](${address})`;
}

function blocksOf(nodes: readonly HtmlNode[]): string[] {
  const blocks: string[] = [];
  let line: HtmlNode[] = [];
  const endLine = () => {
    const text = inlineOf(line, PLAIN).replace(/ *\n */g, "\n").replace(/ {2,}/g, " ").trim();
    if (text) blocks.push(text);
    line = [];
  };
  for (const node of nodes) {
    if (isBlock(node)) {
      endLine();
      blocks.push(...block(node));
    } else line.push(node);
  }
  endLine();
  return blocks;
}

function isBlock(node: HtmlNode): boolean {
  if (node.nodeType !== ELEMENT) return false;
  if (BLOCKS.has(node.nodeName.toUpperCase())) return true;
  // A link or span around blocks is a block itself.
  return children(node).some(isBlock);
}

function block(node: HtmlNode): string[] {
  const name = node.nodeName.toUpperCase();
  if (SKIPPED.has(name)) return [];
  switch (name) {
    case "H1":
    case "H2":
    case "H3":
    case "H4":
    case "H5":
    case "H6": {
      const text = inlineOf(children(node), { ...PLAIN, isBold: true }).trim().replace(/\s+/g, " ");
      return text ? [`${"#".repeat(Number(name[1]))} ${text}`] : [];
    }
    case "PRE":
      return [codeBlock(node, "")];
    case "BLOCKQUOTE": {
      const inner = blocksOf(children(node)).join("\n\n");
      return inner ? [inner.split("\n").map((each) => (each ? `> ${each}` : ">")).join("\n")] : [];
    }
    case "UL":
    case "OL":
      return [list(node, name === "OL")].filter(Boolean);
    case "TABLE":
      return [table(node)].filter(Boolean);
    case "HR":
      return ["---"];
    default:
      if (hasClass(node, "codehilite")) return [codeBlock(node, attribute(node, "data-code-language").toLowerCase())];
      return blocksOf(children(node));
  }
}

function codeBlock(node: HtmlNode, language: string): string {
  const pre = node.nodeName.toUpperCase() === "PRE" ? node : (find(node, (each) => each.nodeName.toUpperCase() === "PRE") ?? node);
  const code = find(pre, (each) => each.nodeName.toUpperCase() === "CODE");
  const named = /(?:^|\s)(?:language|lang|highlight-source)-([\w+#-]+)/.exec(`${attribute(code ?? pre, "class")} ${attribute(pre, "class")}`)?.[1];
  const text = (pre.textContent ?? "").replace(/^\n/, "").replace(/\s+$/, "");
  const longest = Math.max(2, ...[...text.matchAll(/^ {0,3}(`{3,})/gm)].map((found) => found[1]!.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}${language || named || ""}\n${text}\n${mark}`;
}

function list(node: HtmlNode, isNumbered: boolean): string {
  let number = Number(attribute(node, "start")) || 1;
  const items: string[] = [];
  for (const item of children(node)) {
    const name = item.nodeName.toUpperCase();
    // Lists directly within lists are not valid, and yet common.
    if (name === "UL" || name === "OL") {
      const nested = list(item, name === "OL");
      if (nested) items.push(indented(nested));
      continue;
    }
    if (name !== "LI") continue;
    const mark = isNumbered ? `${number}. ` : "- ";
    const box = find(item, (each) => each.nodeName.toUpperCase() === "INPUT" && attribute(each, "type") === "checkbox");
    const done = box ? (box.getAttribute?.("checked") === null ? "[ ] " : "[x] ") : "";
    const [first = "", ...rest] = blocksOf(children(item)).join("\n").split("\n");
    items.push([`${mark}${done}${first}`, ...rest.map((each) => `  ${each}`)].join("\n"));
    number += 1;
  }
  return items.join("\n");
}

function indented(text: string): string {
  return text.split("\n").map((each) => `  ${each}`).join("\n");
}

function rowsOf(node: HtmlNode): HtmlNode[] {
  return children(node).flatMap((each) => {
    const name = each.nodeName.toUpperCase();
    if (name === "TR") return [each];
    return name === "THEAD" || name === "TBODY" || name === "TFOOT" ? rowsOf(each) : [];
  });
}

function table(node: HtmlNode): string {
  const rows = rowsOf(node).map((row) =>
    children(row)
      .filter((each) => ["TD", "TH"].includes(each.nodeName.toUpperCase()))
      .map((each) => blocksOf(children(each)).join(" ").replace(/\s*\n\s*/g, " ").replace(/\|/g, "\\|")),
  );
  const width = Math.max(0, ...rows.map((row) => row.length));
  // Tables of one column are layout.
  if (width < 2) return rows.map((row) => row.join(" ")).filter(Boolean).join("\n\n");
  const line = (cells: string[]) => `| ${Array.from({ length: width }, (_, index) => cells[index] ?? "").join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), `|${" --- |".repeat(width)}`, ...body.map(line)].join("\n");
}

/** Return the Markdown of a tree. */
export function markdownOf(root: HtmlNode): string {
  return blocksOf(children(root)).join("\n\n").replace(/\u00a0/g, " ").trim();
}
