import { describe, expect, it } from "vitest";
import { applied, continueList, format, type Format, insertion } from "../src/views/compose/formatting";

/** Read a text whose selection is between `[` and `]`, or whose caret is `|`. */
function read(marked: string): [string, number, number] {
  const caret = marked.indexOf("|");
  if (caret >= 0) return [marked.replace("|", ""), caret, caret];
  const start = marked.indexOf("‹");
  const end = marked.indexOf("›") - 1;
  return [marked.replace(/[‹›]/g, ""), start, end];
}

function shown(text: string, start: number, end: number): string {
  if (start === end) return `${text.slice(0, start)}|${text.slice(start)}`;
  return `${text.slice(0, start)}‹${text.slice(start, end)}›${text.slice(end)}`;
}

function formatted(kind: Format, marked: string): string {
  const [text, start, end] = read(marked);
  const edit = format(kind, text, start, end);
  return shown(applied(text, edit), edit.start, edit.end);
}

describe("formatting", () => {
  it.each<[Format, string, string]>([
    ["bold", "a ‹word› b", "a **‹word›** b"],
    ["bold", "a **‹word›** b", "a ‹word› b"],
    ["bold", "a ‹**word**› b", "a ‹word› b"],
    ["bold", "a ‹word › b", "a **‹word›**  b"],
    ["bold", "|", "**|**"],
    ["italic", "**‹word›**", "***‹word›***"],
    ["italic", "***‹word›***", "**‹word›**"],
    ["strike", "‹x›", "~~‹x›~~"],
    ["link", "‹here›", "[here](‹url›)"],
    ["link", "‹https://example.com›", "[|](https://example.com)"],
    ["bullets", "‹a\nb›", "‹- a\n- b›"],
    ["bullets", "‹- a\n- b›", "‹a\nb›"],
    ["numbers", "‹- a\n- b›", "‹1. a\n2. b›"],
    ["code", "‹x›", "`‹x›`"],
    ["code", "‹a\nb›", "```\n‹a\nb›\n```"],
    ["quote", "one\n‹two›", "one\n```quote\n‹two›\n```"],
    ["quote", "‹```\nx\n```›", "````quote\n‹```\nx\n```›\n````"],
    ["spoiler", "‹x›", "```spoiler |\nx\n```"],
  ])("%s of %j", (kind, before, after) => {
    expect(formatted(kind, before)).toBe(after);
  });

  it.each([
    ["- a|", "- a\n- |"],
    ["  2. b|", "  2. b\n  3. |"],
    ["- a\n- |", "- a\n|"],
  ])("continues the list %j", (before, after) => {
    const [text, start, end] = read(before);
    const edit = continueList(text, start, end)!;
    expect(shown(applied(text, edit), edit.start, edit.end)).toBe(after);
  });

  it("continues nothing else", () => {
    expect(continueList("plain", 5, 5)).toBeUndefined();
    expect(continueList("- a", 0, 3)).toBeUndefined();
  });

  it("puts a block on lines of its own", () => {
    expect(applied("ab", insertion("ab", 1, 1, "X", true))).toBe("a\nX\nb");
    expect(applied("", insertion("", 0, 0, "X", true))).toBe("X");
  });
});
