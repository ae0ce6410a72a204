import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, "../src");

/** Return where a source says `any`. */
function placesOfAny(name: string): string[] {
  const text = readFileSync(join(SOURCE, name), "utf8");
  if (!/\bany\b/.test(text)) return [];
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false, name.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const places: string[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) places.push(`${name}:${file.getLineAndCharacterOfPosition(node.pos).line + 1}`);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return places;
}

test("no type is any", () => {
  const names = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  expect(names.flatMap(placesOfAny)).toEqual([]);
});
