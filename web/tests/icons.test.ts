import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SHAPES } from "../src/ui/icon-shapes";

const SOURCE = join(import.meta.dirname, "../src");

test("every icon is used", () => {
  const sources = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".tsx") || name.endsWith(".ts"))
    .filter((name) => !name.endsWith("icon-shapes.ts"))
    .map((name) => readFileSync(join(SOURCE, name), "utf8"));
  const unused = Object.keys(SHAPES).filter((name) => !sources.some((source) => source.includes(`"${name}"`)));
  expect(unused).toEqual([]);
});
