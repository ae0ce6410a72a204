import { beforeEach, expect, test, vi } from "vitest";
import { i18n } from "../src/i18n";
import { aModel } from "./fakes";

const model = vi.hoisted(() => ({ state: undefined as any }));
vi.mock("../src/app", () => ({ state: () => model.state }));
const { nearTime, shortTime, timeOfDay, timeOfDayIn } = await import("../src/ui/time");

const AFTERNOON = new Date(2026, 10, 27, 16, 5).getTime() / 1000;

/** Speak a language, in a browser of some languages, with the person's choice. */
function set(locale: string, languages: string[], is24: boolean | null): void {
  i18n.activate(locale, {});
  vi.stubGlobal("navigator", { languages });
  model.state.settings.twenty_four_hour_time = is24;
}

beforeEach(() => {
  model.state = aModel({}).state;
});

test("a person who has not chosen gets the clock of the language, in the region of the browser", () => {
  set("en", ["en-US"], null);
  expect(timeOfDay(AFTERNOON)).toMatch(/4:05\sPM/);
  set("en", ["de-DE", "en-GB"], null);
  expect(timeOfDay(AFTERNOON)).toBe("16:05");
  set("de", ["en-US"], null);
  expect(timeOfDay(AFTERNOON)).toBe("16:05");
  expect(shortTime(AFTERNOON)).toContain("27. Nov.");
});

test("the choice counts in every language and everywhere", () => {
  set("de", [], false);
  expect(timeOfDay(AFTERNOON)).toContain("4:05");
  set("en", ["en-US"], true);
  for (const shown of [timeOfDay, shortTime, nearTime]) expect(shown(AFTERNOON)).toContain("16:05");
  expect(timeOfDayIn("UTC", Date.UTC(2026, 10, 27, 16, 5) / 1000)).toBe("16:05");
});
