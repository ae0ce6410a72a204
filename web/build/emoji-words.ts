/** `virtual:emoji-words/de`: words of a language by which people look for emoji, by code points (CLDR). */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const NAME = "virtual:emoji-words/";
const DATA = join(import.meta.dirname, "../node_modules/cldr-annotations-full/annotations");

interface Annotations {
  annotations: { annotations: Record<string, { default?: string[]; tts?: string[] }> };
}

/** Return the code points of an emoji as the server's list has them: without the variation selector. */
function codeOf(characters: string): string {
  const points = [...characters].map((each) => each.codePointAt(0)!.toString(16).padStart(4, "0"));
  return points.filter((each) => each !== "fe0f").join("-");
}

/** Return words by code points, the name of the emoji first. */
export function emojiWords(language: string): Record<string, string[]> {
  const text = readFileSync(join(DATA, language, "annotations.json"), "utf8");
  const all = Object.entries((JSON.parse(text) as Annotations).annotations.annotations);
  return Object.fromEntries(
    all.map(([characters, found]) => [codeOf(characters), [...new Set([...(found.tts ?? []), ...(found.default ?? [])])]]),
  );
}

export function emojiWordModules(): Plugin {
  return {
    name: "emoji-words",
    resolveId: (id) => (id.startsWith(NAME) ? `\0${id}` : undefined),
    load: (id) =>
      id.startsWith(`\0${NAME}`) ? `export default ${JSON.stringify(emojiWords(id.slice(NAME.length + 1)))}` : undefined,
  };
}
