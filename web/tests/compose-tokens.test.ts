import { describe, expect, it } from "vitest";
import { isInCode, tokenAt } from "../src/views/compose/tokens";

/** Find the token at the `|` of a text. */
function at(marked: string) {
  const caret = marked.indexOf("|");
  return tokenAt(marked.slice(0, caret) + marked.slice(caret + 1), caret);
}

describe("the token at the caret", () => {
  it.each([
    ["hi @ad|", { kind: "person", from: 3, to: 6, query: "ad", isSilent: false }],
    ["@|", { kind: "person", from: 0, to: 1, query: "", isSilent: false }],
    ["hi @_ad|", { kind: "person", from: 3, to: 7, query: "ad", isSilent: true }],
    ["hi @**Ada Lo|", { kind: "person", from: 3, to: 12, query: "Ada Lo", isSilent: false }],
    ["(@Иван|", { kind: "person", from: 1, to: 6, query: "Иван", isSilent: false }],
    ["see #gen|", { kind: "channel", from: 4, to: 8, query: "gen" }],
    ["see #**general>pla|", { kind: "topic", from: 4, to: 18, query: "pla", channel: "general" }],
    ["see #>pla|", { kind: "topic", from: 4, to: 9, query: "pla", channel: undefined }],
    [":tad|", { kind: "emoji", from: 0, to: 4, query: "tad" }],
    [":Übel|", { kind: "emoji", from: 0, to: 5, query: "übel" }],
    [":نار|", { kind: "emoji", from: 0, to: 4, query: "نار" }],
    ["/po|", { kind: "command", from: 0, to: 3, query: "po" }],
    ["/bühne_2-ح|", { kind: "command", from: 0, to: 10, query: "bühne_2-ح" }],
    ["at <time|", { kind: "time", from: 3, to: 8, query: "" }],
    ["at <time:tomorrow 9|", { kind: "time", from: 3, to: 19, query: "tomorrow 9" }],
    ["```py|", { kind: "language", from: 3, to: 5, query: "py", fence: "```" }],
  ])("is found in %j", (text, token) => {
    expect(at(text)).toEqual(token);
  });

  it.each([
    "ada@exam|",
    "@**Ada** hello|",
    "at 10:30|",
    "http://exa|",
    "a /po|",
    "x\n/po|",
    "# |",
    "`@ad|",
    "```\n@ad|",
    "@a|da",
    "two :+ |",
    "~~~\n```py|",
  ])("is none in %j", (text) => {
    expect(at(text)).toBeUndefined();
  });

  it("is found behind code that has ended, and in quotations", () => {
    expect(at("`x` @ad|")?.kind).toBe("person");
    expect(at("```\nx\n```\n@ad|")?.kind).toBe("person");
    expect(at("```quote\n@ad|")?.kind).toBe("person");
  });

  it("knows code by its fence", () => {
    expect(isInCode("````\n```\nx", 10)).toBe(true);
    expect(isInCode("````\n````\nx", 11)).toBe(false);
  });
});
