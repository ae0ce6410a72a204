/** What is being completed: the word before the caret, if it begins like a mention, link or emoji. */

export type Token =
  | { kind: "person"; from: number; to: number; query: string; isSilent: boolean }
  | { kind: "channel"; from: number; to: number; query: string }
  | { kind: "topic"; from: number; to: number; query: string; channel: string | undefined }
  | { kind: "emoji"; from: number; to: number; query: string }
  | { kind: "command"; from: number; to: number; query: string }
  | { kind: "time"; from: number; to: number; query: string }
  | { kind: "language"; from: number; to: number; query: string; fence: string };

const MAX_LOOK_BACK = 120;
const BEFORE = "(?:^|[\\s(\\[{<>/\"'“‘„,;:|*_~–—-])";

const TOPIC = new RegExp(`(?:#\\*\\*([^*\`\\n>]{1,60})|${BEFORE}#)>([^*\`\\n]{0,60})$`);
const PERSON = new RegExp(`${BEFORE}@(_?)(?:\\*{1,2})?((?!\\s)[^@*\`\\n|]{0,40})$`);
const CHANNEL = new RegExp(`${BEFORE}#(?:\\*{1,2})?((?![\\s#])[^#*\`\\n>]{0,60})$`);
const EMOJI = new RegExp(`${BEFORE}:([\\p{L}\\p{N}+_][\\p{L}\\p{M}\\p{N}_+-]{1,40})$`, "u");
const COMMAND = /^\/([\p{L}\p{M}\p{N}_-]{0,32})$/u;
const TIME = /<t(?:i(?:m(?:e(?::([^>\n]{0,40}))?)?)?)?$/;
const LANGUAGE = /^( {0,3}(?:`{3,}|~{3,}))([^\s`~]{1,30})$/;

/** Return whether a position is inside a block of code or inline code. */
export function isInCode(text: string, at: number): boolean {
  let fence: string | undefined;
  const lines = text.slice(0, at).split("\n");
  const last = lines.pop()!;
  for (const line of lines) {
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    if (!mark) continue;
    if (fence !== undefined) {
      if (mark[1]!.startsWith(fence) && !mark[2]!.trim()) fence = undefined;
    } else if (!/^\s*(?:quote|spoiler)\b/.test(mark[2]!)) fence = mark[1]!;
  }
  if (fence !== undefined) return true;
  return ((last.match(/`/g)?.length ?? 0) & 1) === 1;
}

/** Return what stands before the caret and can be completed. */
export function tokenAt(text: string, caret: number): Token | undefined {
  const lineStart = text.lastIndexOf("\n", caret - 1) + 1;
  const begin = Math.max(lineStart, caret - MAX_LOOK_BACK);
  const line = text.slice(begin, caret);
  const after = text.slice(caret, caret + 1);
  // In the middle of a word nothing is completed.
  if (/[\p{L}\p{N}]/u.test(after)) return undefined;
  const found = begin === lineStart ? language(line, begin, caret) : undefined;
  if (found) return isInCode(text, lineStart) ? undefined : found;
  if (lineStart === 0 && begin === 0) {
    const command = COMMAND.exec(line);
    if (command) return { kind: "command", from: 0, to: caret, query: command[1]! };
  }
  const token = wordToken(line, begin, caret);
  return token && !isInCode(text, token.from) ? token : undefined;
}

function language(line: string, begin: number, caret: number): Token | undefined {
  const found = LANGUAGE.exec(line);
  if (!found) return undefined;
  return { kind: "language", from: begin + found[1]!.length, to: caret, query: found[2]!, fence: found[1]!.trim() };
}

function wordToken(line: string, begin: number, caret: number): Token | undefined {
  let found = TOPIC.exec(line);
  if (found) {
    const from = begin + line.indexOf("#", found.index);
    return { kind: "topic", from, to: caret, query: found[2]!, channel: found[1] };
  }
  found = PERSON.exec(line);
  if (found) {
    const from = begin + line.indexOf("@", found.index);
    return { kind: "person", from, to: caret, query: found[2]!, isSilent: found[1] === "_" };
  }
  found = CHANNEL.exec(line);
  if (found) return { kind: "channel", from: begin + line.indexOf("#", found.index), to: caret, query: found[1]! };
  found = EMOJI.exec(line);
  if (found) return { kind: "emoji", from: caret - found[1]!.length - 1, to: caret, query: found[1]!.toLowerCase() };
  found = TIME.exec(line);
  if (found) return { kind: "time", from: begin + found.index, to: caret, query: found[1] ?? "" };
  return undefined;
}
