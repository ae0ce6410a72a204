import { beforeEach, describe, expect, it, vi } from "vitest";
import { FakeStorage } from "./fakes";

const storage = new FakeStorage();
vi.stubGlobal("localStorage", storage);
beforeEach(() => {
  storage.clear();
  vi.resetModules();
});

describe("an emoji in a skin tone", () => {
  it.each([
    ["👍", "👍🏽"],
    ["☝", "☝🏽"],
    ["☝\ufe0f", "☝🏽"],
    ["👩\u200d💻", "👩🏽\u200d💻"],
    ["🕵\ufe0f\u200d♂\ufe0f", "🕵🏽\u200d♂\ufe0f"],
  ])("is %s as %s", async (plain, wanted) => {
    const { toned } = await import("../src/ui/emoji-tones");
    expect(toned(plain, "1f3fd")).toBe(wanted);
    expect(toned(plain, "")).toBeUndefined();
  });

  it.each(["🎉", "❤\ufe0f", "🇩🇪", "👨\u200d👩\u200d👧", "👪", "#\ufe0f\u20e3", "", undefined])("is not made of %s", async (plain) => {
    const { toned } = await import("../src/ui/emoji-tones");
    expect(toned(plain, "1f3fd")).toBeUndefined();
  });
});

describe("the tone", () => {
  it("is remembered", async () => {
    const first = await import("../src/ui/emoji-tones");
    expect(first.tone.value).toBe("");
    first.chooseTone("1f3ff");
    vi.resetModules();
    expect((await import("../src/ui/emoji-tones")).tone.value).toBe("1f3ff");
  });

  it("is none where the storage holds something else, and is kept by the page where it is full", async () => {
    storage.setItem("parley.emoji.tone", "1f44d");
    const { tone, chooseTone } = await import("../src/ui/emoji-tones");
    expect(tone.value).toBe("");
    storage.isFull = true;
    chooseTone("1f3fb");
    expect(tone.value).toBe("1f3fb");
    storage.isFull = false;
  });
});
