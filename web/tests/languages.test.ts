import { describe, expect, it, vi } from "vitest";
import { compile, locales, textsOfSource, translations } from "../build/catalogues";
import { problemsOf } from "../build/texts";
import { i18n } from "../src/i18n";
import { CATALOGUES, languageChoices, localeOf, speak } from "../src/languages";

vi.mock("../src/app", () => ({ state: () => ({ settings: {}, fields: {} }) }));
vi.stubGlobal("sessionStorage", { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });

const COUNTED = "{count, plural, one {# message} other {# messages}}";
const COUNTED_MEMBERS = "{count, plural, one {# member} other {# members}}";

describe("translations", () => {
  it("are there for every text of the source, with its arguments, and for no other", () => {
    const texts = textsOfSource();
    expect(locales()).toEqual(["ar", "de"]);
    for (const locale of locales()) expect(problemsOf(locale, texts, translations(locale))).toEqual([]);
  }, 60_000);

  it("are reported when they are missing, unused, or take other arguments", () => {
    const texts = new Set(["Save", "Leave {name}", "Join {name}"]);
    const translated = { "Leave {name}": "{nam} verlassen", "Join {name}": "{name} beitreten", Gone: "Weg" };
    expect(problemsOf("de", texts, translated)).toEqual([
      "de: missing: Save",
      "de: arguments are nam (argument) instead of name (argument): Leave {name}",
      "de: unused: Gone",
    ]);
  });

  it("are reported when a plural lacks forms of the language", () => {
    expect(problemsOf("ar", new Set([COUNTED]), { [COUNTED]: "{count, plural, one {رسالة} other {# رسالة}}" })).toEqual([
      `ar: plural forms are missing: few, many, two, zero: ${COUNTED}`,
    ]);
  });
});

describe("languages", () => {
  it("have a catalogue for each file of translations", () => {
    expect(Object.keys(CATALOGUES).sort()).toEqual(locales());
  });

  it("give the locale of the page, English where there are no texts", () => {
    expect(["de", "ar", "en", "en-gb", "fr", "zh-hans", "constructor", ""].map(localeOf)).toEqual([
      "de", "ar", "en", "en-GB", "en", "en", "en", "en",
    ]);
  });

  it("are offered by their own names, with the one that is set", () => {
    expect(languageChoices("de").map(([code]) => code)).toEqual(["en", "en-gb", "de", "ar"]);
    expect(languageChoices("fr").at(-1)).toEqual(["fr", "français"]);
    expect(Object.fromEntries(languageChoices(undefined))).toMatchObject({ de: "Deutsch", ar: "العربية" });
  });

  it("are spoken once their catalogue is loaded", async () => {
    await speak("de");
    expect([i18n.locale, i18n.t("Channels"), i18n.t(COUNTED_MEMBERS, { count: 1 })]).toEqual(["de", "Kanäle", "1 Mitglied"]);
    await speak("ar");
    const counted = [0, 1, 2, 3, 11, 100].map((count) => i18n.t(COUNTED_MEMBERS, { count }));
    expect(new Set(counted).size).toBe(6);
    expect(counted.at(-1)).toContain("100");
    await import("virtual:texts/views/groups/groups-dialog.tsx.js");
    await speak("fr");
    expect([i18n.locale, i18n.t("Channels"), i18n.t(COUNTED_MEMBERS, { count: 2 })]).toEqual(["en", "Channels", "2 members"]);
  });

  it("compile texts with quotes and braces", () => {
    expect(compile("de", { "{name}’s": "„{name}“" })).toContain('"{name}’s"');
  });
});


