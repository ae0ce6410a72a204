/** Formatting of a text with a selection: pure functions from one to another. */

export interface Edit {
  /** The part of the text that is replaced. */
  from: number;
  to: number;
  insert: string;
  /** The selection after it. */
  start: number;
  end: number;
}

export type Format =
  | "bold"
  | "italic"
  | "strike"
  | "link"
  | "bullets"
  | "numbers"
  | "code"
  | "quote"
  | "spoiler"
  | "math";

const MARKS: Partial<Record<Format, string>> = { bold: "**", italic: "*", strike: "~~" };

/** Apply a format to the selection; applied again it is taken away. */
export function format(kind: Format, text: string, start: number, end: number): Edit {
  const mark = MARKS[kind];
  if (mark) return wrap(text, start, end, mark);
  switch (kind) {
    case "link":
      return link(text, start, end);
    case "bullets":
    case "numbers":
      return list(text, start, end, kind === "numbers");
    case "code":
      return text.slice(start, end).includes("\n") ? fence(text, start, end, "") : wrap(text, start, end, "`");
    case "math":
      return text.slice(start, end).includes("\n") ? fence(text, start, end, "math") : wrap(text, start, end, "$$");
    default:
      return fence(text, start, end, kind);
  }
}

function wrap(text: string, start: number, end: number, mark: string): Edit {
  const size = mark.length;
  const selected = text.slice(start, end);
  const isWrapped = text.slice(start - size, start) === mark && text.slice(end, end + size) === mark;
  // A pair of single stars around a bold text is its bold mark, not an italic one.
  const isOther = mark === "*" && text.slice(start - 2, start) === "**" && text.slice(start - 3, start) !== "***";
  if (isWrapped && !isOther) {
    return { from: start - size, to: end + size, insert: selected, start: start - size, end: end - size };
  }
  const holds = selected.length >= 2 * size && selected.startsWith(mark) && selected.endsWith(mark);
  if (holds && !(mark === "*" && selected.startsWith("**"))) {
    const inner = selected.slice(size, -size);
    return { from: start, to: end, insert: inner, start, end: start + inner.length };
  }
  // Blanks at the ends would keep the marks from being read as such.
  const lead = selected.length - selected.trimStart().length;
  const trimmed = selected.trim();
  const tail = selected.slice(lead + trimmed.length);
  const from = start + (trimmed ? lead : 0);
  const insert = `${mark}${trimmed}${mark}`;
  return {
    from,
    to: end - (trimmed ? tail.length : 0),
    insert,
    start: from + size,
    end: from + size + trimmed.length,
  };
}

function link(text: string, start: number, end: number): Edit {
  const selected = text.slice(start, end);
  if (/^https?:\/\/\S+$/.test(selected)) {
    return { from: start, to: end, insert: `[](${selected})`, start: start + 1, end: start + 1 };
  }
  const found = /^\[([^\]]*)\]\(([^)]*)\)$/.exec(selected);
  if (found) return { from: start, to: end, insert: found[1]!, start, end: start + found[1]!.length };
  const at = start + selected.length + 3;
  return { from: start, to: end, insert: `[${selected}](url)`, start: at, end: at + 3 };
}

function linesAround(text: string, start: number, end: number): [number, number] {
  const from = text.lastIndexOf("\n", start - 1) + 1;
  const next = text.indexOf("\n", end > start && text[end - 1] === "\n" ? end - 1 : end);
  return [from, next < 0 ? text.length : next];
}

function list(text: string, start: number, end: number, isNumbered: boolean): Edit {
  const [from, to] = linesAround(text, start, end);
  const lines = text.slice(from, to).split("\n");
  const item = isNumbered ? /^(\s*)\d+\. / : /^(\s*)[-*+] /;
  const isList = lines.every((line) => item.test(line));
  let number = 0;
  const changed = lines.map((line) => {
    if (isList) return line.replace(item, "$1");
    const plain = line.replace(/^(\s*)(?:[-*+] |\d+\. )/, "$1");
    return isNumbered ? `${(number += 1)}. ${plain}` : `- ${plain}`;
  });
  const insert = changed.join("\n");
  const isCaret = start === end;
  return { from, to, insert, start: isCaret ? from + insert.length : from, end: from + insert.length };
}

function fence(text: string, start: number, end: number, language: string): Edit {
  const selected = text.slice(start, end);
  const longest = Math.max(0, ...[...selected.matchAll(/^ {0,3}(`{3,})/gm)].map((found) => found[1]!.length));
  const mark = "`".repeat(Math.max(3, longest + 1));
  const before = start > 0 && text[start - 1] !== "\n" ? "\n" : "";
  const after = end < text.length && text[end] !== "\n" ? "\n" : "";
  const head = language === "spoiler" ? `${mark}spoiler ` : `${mark}${language}`;
  const insert = `${before}${head}\n${selected}\n${mark}${after}`;
  // A spoiler has a title; the others are written into at once.
  const at = start + before.length + head.length + (language === "spoiler" ? 0 : 1);
  return { from: start, to: end, insert, start: at, end: language === "spoiler" ? at : at + selected.length };
}

/** Return the edit that begins the next item of a list on Enter; undefined outside of lists. */
export function continueList(text: string, start: number, end: number): Edit | undefined {
  if (start !== end) return undefined;
  const from = text.lastIndexOf("\n", start - 1) + 1;
  const found = /^(\s*)(?:([-*+])|(\d{1,6})\.) (.*)$/.exec(text.slice(from, start));
  if (!found) return undefined;
  const [, indent, bullet, number, rest] = found;
  // Enter on an empty item ends the list.
  if (!rest!.trim()) return { from, to: start, insert: "", start: from, end: from };
  const insert = `\n${indent}${bullet ?? `${Number(number) + 1}.`} `;
  return { from: start, to: start, insert, start: start + insert.length, end: start + insert.length };
}

/** Return the edit that inserts a text at the selection; a block stands on lines of its own. */
export function insertion(text: string, start: number, end: number, insert: string, asBlock = false): Edit {
  if (asBlock) {
    const before = text.slice(0, start);
    const after = text.slice(end);
    if (before && !before.endsWith("\n")) insert = `\n${insert}`;
    if (after && !after.startsWith("\n") && !insert.endsWith("\n")) insert = `${insert}\n`;
  }
  const at = start + insert.length;
  return { from: start, to: end, insert, start: at, end: at };
}

/** Return the text after an edit. */
export function applied(text: string, edit: Edit): string {
  return text.slice(0, edit.from) + edit.insert + text.slice(edit.to);
}
