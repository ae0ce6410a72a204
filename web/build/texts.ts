/** What is wrong with translations: texts that are missing, unused, or differ in what they take. */

import { parse, type Token } from "@messageformat/parser";
import { locales, textsOfSource, translations } from "./catalogues";

/** Return the arguments of a text, each with how it is used: `n (plural)`. */
function argumentsOf(tokens: readonly Token[], found = new Set<string>()): Set<string> {
  for (const token of tokens) {
    if (token.type === "content" || token.type === "octothorpe") continue;
    found.add(`${token.arg} (${token.type})`);
    if ("cases" in token) for (const each of token.cases) argumentsOf(each.tokens, found);
  }
  return found;
}

/** Return the keys of the cases of each plural of a text. */
function pluralsOf(tokens: readonly Token[]): string[][] {
  return tokens.flatMap((token) => {
    if (!("cases" in token)) return [];
    const inner = token.cases.flatMap((each) => pluralsOf(each.tokens));
    return token.type === "plural" ? [token.cases.map(({ key }) => key), ...inner] : inner;
  });
}

function list(names: Iterable<string>): string {
  return [...names].sort().join(", ") || "none";
}

function problemOf(locale: string, text: string, translated: string): string | undefined {
  const expected = list(argumentsOf(parse(text)));
  const own = parse(translated);
  const given = list(argumentsOf(own));
  if (given !== expected) return `arguments are ${given} instead of ${expected}`;
  const forms = new Intl.PluralRules(locale).resolvedOptions().pluralCategories;
  for (const keys of pluralsOf(own)) {
    const missing = forms.filter((form) => !keys.includes(form));
    if (missing.length) return `plural forms are missing: ${list(missing)}`;
  }
  return undefined;
}

/** Return what is wrong with the translations of texts into a language, a line for each. */
export function problemsOf(locale: string, texts: ReadonlySet<string>, translated: Readonly<Record<string, string>>): string[] {
  const problems: string[] = [];
  for (const text of texts) {
    const own = translated[text];
    if (!own?.trim()) problems.push(`${locale}: missing: ${text}`);
    else {
      const problem = problemOf(locale, text, own);
      if (problem) problems.push(`${locale}: ${problem}: ${text}`);
    }
  }
  for (const text of Object.keys(translated)) if (!texts.has(text)) problems.push(`${locale}: unused: ${text}`);
  return problems;
}

/** Print what is wrong with the translations. Returns the exit code. */
export function report(): number {
  const texts = textsOfSource();
  const problems = locales().flatMap((locale) => problemsOf(locale, texts, translations(locale)));
  for (const problem of problems) console.log(problem);
  console.log(`${texts.size} texts, ${locales().length} translations, ${problems.length} problems`);
  return problems.length ? 1 : 0;
}
