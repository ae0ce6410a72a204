import { expect, it } from "vitest";
import { emojiWords } from "../build/emoji-words";
import { charactersOf, grouped } from "../src/model/emoji";

it("code points become characters", () => {
  expect(charactersOf("1f44d")).toBe("👍");
  expect(charactersOf("1f1e9-1f1ea")).toBe("🇩🇪");
  expect(charactersOf("2764")).toBe("❤️");
  expect(charactersOf("zz")).toBe("");
});

it("reactions are grouped by emoji, in the order of the first of each", () => {
  const reaction = (emoji_code: string, user_id: number, reaction_type = "unicode_emoji") => ({ emoji_code, user_id, reaction_type, emoji_name: "x" });
  const groups = grouped([reaction("1", 5), reaction("2", 5), reaction("1", 6), reaction("1", 7, "realm_emoji")]);
  expect(groups.map((each) => [each.type, each.code, each.userIds])).toEqual([
    ["unicode_emoji", "1", [5, 6]],
    ["unicode_emoji", "2", [5]],
    ["realm_emoji", "1", [7]],
  ]);
});

it("words of a language are by the code points of the server's list", () => {
  expect(emojiWords("de")["1f525"]).toContain("Feuer");
  expect(emojiWords("de")["2764"]).toContain("Herz");
  expect(emojiWords("ar")["1f525"]).toContain("نار");
});
