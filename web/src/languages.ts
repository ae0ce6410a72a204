/** Languages of the interface: those that have texts, and loading them. */

import { effect } from "@preact/signals";
import { state } from "./app";
import { type Catalogue, i18n } from "./i18n";
import { load } from "./ui/lazy";
import { watch } from "./ui/watch";

/** A language with texts of its own: any but English, in which the source is. */
export type Translated = "ar" | "de";

/** What loads the texts of each language. */
export const CATALOGUES: Readonly<Record<Translated, () => Promise<{ default: Catalogue }>>> = {
  ar: () => import("virtual:catalogue/ar"),
  de: () => import("virtual:catalogue/de"),
};

/** Codes that the server accepts and that have texts here. */
const OFFERED = ["en", "en-gb", "de", "ar"];

const languageOf = (code: string) => code.toLowerCase().split("-")[0]!;

/** Return the language of a code or locale; undefined for English, and where it has no texts. */
export function translatedLanguage(code: string): Translated | undefined {
  const language = languageOf(code);
  return Object.hasOwn(CATALOGUES, language) ? (language as Translated) : undefined;
}

/** Return the locale of the page for a language that a person has set: English where it has no texts. */
export function localeOf(code: string): string {
  if (languageOf(code) !== "en" && !translatedLanguage(code)) return "en";
  return Intl.getCanonicalLocales(code)[0] ?? "en";
}

/** Show the page in a language. It is to be done before anything of it is rendered. */
export async function speak(code: string): Promise<void> {
  const locale = localeOf(code);
  if (locale === i18n.locale) return;
  const language = translatedLanguage(locale);
  try {
    i18n.activate(locale, language ? (await load(CATALOGUES[language])).default : {});
  } catch {
    // The file is not reached, or gone after an upgrade: a page in English is better than none.
  }
}

/** The language in which the server has sent the page: for visitors, the one that their browser asks for. */
const served = globalThis.document?.documentElement.lang || "en";

/** Return the language that the user has set; for visitors without an account, that of the page. */
export function chosenLanguage(): string {
  const { settings, userId } = state();
  return userId ? String(settings.default_language) : served;
}

/**
 * Load the page anew when another language is set, so that nothing of the old one stays anywhere.
 *
 * What is being written is kept as a draft.
 */
export function followLanguage(): void {
  const shown = localeOf(chosenLanguage());
  effect(() => {
    watch("settings");
    if (localeOf(chosenLanguage()) !== shown) location.reload();
  });
}

/** Return the languages to choose from, each by its own name; with the one that is set, if it is another. */
export function languageChoices(current: unknown): readonly (readonly [string, string])[] {
  const codes = new Set([...OFFERED, ...(typeof current === "string" && current ? [current] : [])]);
  return [...codes].map((code) => [code, new Intl.DisplayNames([code], { type: "language" }).of(code) ?? code]);
}
