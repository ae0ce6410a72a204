/**
 * Catalogues of texts, compiled at build time.
 *
 * `virtual:catalogue/en` holds the texts with arguments that the source uses;
 * `virtual:catalogue/de` the translations of `locales/de.json`, by English text.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import MessageFormat from "@messageformat/core";
import compileModule from "@messageformat/core/compile-module";
import ts from "typescript";
import type { Plugin } from "vite";

const SOURCE = join(import.meta.dirname, "../src");
const LOCALES = join(import.meta.dirname, "../locales");
const PREFIX = "virtual:catalogue/";

function sources(): string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(SOURCE, name));
}

/** Return the texts of all calls of `i18n.t`. Throws where the text is not a literal. */
export function textsOfSource(): Set<string> {
  const texts = new Set<string>();
  for (const path of sources()) {
    const source = readFileSync(path, "utf8");
    if (!source.includes("i18n.t(")) continue;
    const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && node.expression.getText(file) === "i18n.t") {
        const [text] = node.arguments;
        if (!text || !ts.isStringLiteralLike(text)) {
          const { line } = file.getLineAndCharacterOfPosition(node.getStart());
          throw new Error(`${path}:${line + 1}: the text of i18n.t must be a literal`);
        }
        texts.add(text.text);
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return texts;
}

/** Return the languages that there are translations into. */
export function locales(): string[] {
  return readdirSync(LOCALES).map((name) => name.replace(/\.json$/, "")).sort();
}

export function translations(locale: string): Record<string, string> {
  return JSON.parse(readFileSync(join(LOCALES, `${locale}.json`), "utf8"));
}

/** Return the source of a module that exports a catalogue. */
export function compile(locale: string, texts: Record<string, string>): string {
  const keys = Object.keys(texts);
  const numbered = Object.fromEntries(keys.map((key, index) => [`m${index}`, texts[key]!]));
  const module = compileModule(new MessageFormat(locale), numbered);
  return module.replace(/"?\bm(\d+)"?: /g, (_match: string, index: string) => `${JSON.stringify(keys[Number(index)])}: `);
}

export function catalogues(): Plugin {
  return {
    name: "catalogues",
    resolveId: (id) => (id.startsWith(PREFIX) ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith(`\0${PREFIX}`)) return undefined;
      const locale = id.slice(PREFIX.length + 1);
      if (locale !== "en") return compile(locale, translations(locale));
      const withArguments = [...textsOfSource()].filter((text) => /[{}']/.test(text));
      return compile("en", Object.fromEntries(withArguments.map((text) => [text, text])));
    },
  };
}
