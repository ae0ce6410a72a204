import { describe, expect, it } from "vitest";
import { aboutUnknown, unknownOperators } from "../src/views/search/query";

describe("operators of a search that do not exist", () => {
  it.each([
    ["before:2026-01-01 cog", ["before"]],
    ["-after:2026 before:2026", ["after", "before"]],
    ["نتائج before:أمس", ["before"]],
    ['"before:2026"', []],
    ["sender:ada is:unread has:link date:2026-11-20", []],
    ["https://example.com/a at 12:30", []],
    ["std::vector", []],
    ["note: see below", []],
  ])("in %s", (query, names) => expect(unknownOperators(query)).toEqual(names));

  it("are named in one sentence", () => {
    expect(aboutUnknown("before:1 after:2")).toContain("before: after:");
    expect(aboutUnknown("cog")).toBeUndefined();
  });
});
