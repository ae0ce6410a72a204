import { describe, expect, it } from "vitest";
import { directionOf } from "../src/model/direction";

describe("the direction of a text", () => {
  it.each([
    ["cog", "ltr"],
    ["ترس", "rtl"],
    ["גלגל", "rtl"],
    ["12. — «ترس» cog", "rtl"],
    ["🎉 Zahnrad ترس", "ltr"],
    ["齿轮", "ltr"],
    ["1843", "ltr"],
    ["", "ltr"],
  ])("of %s", (text, direction) => expect(directionOf(text)).toBe(direction));
});
