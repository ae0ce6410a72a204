/**
 * Catalogues of texts, compiled at build time.
 *
 * `virtual:catalogue/de` holds the translations of `locales/de.json`, by English text. English texts
 * with arguments are compiled beside the module that shows them (`virtual:texts/MODULE`), so that the
 * page loads those of a dialog with the dialog.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import MessageFormat from "@messageformat/core";
import compileModule from "@messageformat/core/compile-module";
import ts from "typescript";
import type { Plugin } from "vite";

const SOURCE = join(import.meta.dirname, "../src");
const LOCALES = join(import.meta.dirname, "../locales");
const CATALOGUE = "virtual:catalogue/";
const TEXTS = "virtual:texts/";

function sources(): string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(SOURCE, name));
}

/** Return the texts of the calls of `i18n.t` in a source. Throws where one is not a literal. */
export function textsOf(path: string, source: string): Set<string> {
  const texts = new Set<string>();
  if (!source.includes("i18n.t(")) return texts;
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
  return texts;
}

/** Return the texts of the whole source. */
export function textsOfSource(): Set<string> {
  return new Set(sources().flatMap((path) => [...textsOf(path, readFileSync(path, "utf8"))]));
}

/** Return the texts of a module that have to be compiled: without arguments, a text is its own English. */
function compiledTextsOf(path: string, source: string): string[] {
  return [...textsOf(path, source)].filter((text) => /[{}']/.test(text));
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

/** Return the source of a module that adds English texts to those that the page knows. */
function learning(texts: readonly string[]): string {
  const catalogue = compile("en", Object.fromEntries(texts.map((text) => [text, text])));
  const i18n = JSON.stringify(join(SOURCE, "i18n.ts"));
  return `import { i18n } from ${i18n};\n${catalogue.replace("export default", "const texts =")}\ni18n.learn(texts);\n`;
}

export function catalogues(): Plugin {
  return {
    name: "catalogues",
    enforce: "pre",
    resolveId: (id) => (id.startsWith(CATALOGUE) || id.startsWith(TEXTS) ? `\0${id}` : undefined),
    load(id) {
      if (id.startsWith(`\0${CATALOGUE}`)) {
        const locale = id.slice(CATALOGUE.length + 1);
        return compile(locale, translations(locale));
      }
      if (!id.startsWith(`\0${TEXTS}`)) return undefined;
      const path = join(SOURCE, id.slice(TEXTS.length + 1, -".js".length));
      this.addWatchFile(path);
      return learning(compiledTextsOf(path, readFileSync(path, "utf8")));
    },
    transform(source, id) {
      if (!id.startsWith(SOURCE) || !compiledTextsOf(id, source).length) return undefined;
      return { code: `${source}\nimport "${TEXTS}${relative(SOURCE, id)}.js";\n`, map: null };
    },
  };
}
