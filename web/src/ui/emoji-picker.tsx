/** A picker of emoji, with search: for what is written, and for reactions. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { i18n } from "../i18n";
import { COMMON, type Emoji, emojiNamed, emojiVersion, findEmoji, ownEmoji, unicodeEmoji } from "./emoji-data";
import { chooseTone, type Tone, TONES, tone, toned } from "./emoji-tones";
import { type Anchor, openPopover } from "./popover";
import { watch } from "./watch";

const COLUMNS = 8;
const RECENT_KEY = "parley.emoji.recent";
const HAND = "✋";
const MAX_RECENT = 16;
const MAX_FOUND = 80;

type Group = "faces" | "people" | "nature" | "food" | "activities" | "travel" | "objects" | "symbols" | "flags";

const GROUPS: Group[] = ["faces", "people", "nature", "food", "activities", "travel", "objects", "symbols", "flags"];

/** Ends of ranges of code points, and the group of what is below each. */
const RANGES: [number, Group][] = [
  [0x1f000, "symbols"],
  [0x1f1e5, "symbols"],
  [0x1f1ff, "flags"],
  [0x1f2ff, "symbols"],
  [0x1f30f, "nature"],
  [0x1f320, "nature"],
  [0x1f32c, "nature"],
  [0x1f32f, "food"],
  [0x1f344, "nature"],
  [0x1f37f, "food"],
  [0x1f3d3, "activities"],
  [0x1f3f0, "travel"],
  [0x1f3f4, "flags"],
  [0x1f3fa, "activities"],
  [0x1f43f, "nature"],
  [0x1f487, "people"],
  [0x1f4ff, "objects"],
  [0x1f573, "symbols"],
  [0x1f57a, "people"],
  [0x1f58f, "objects"],
  [0x1f596, "people"],
  [0x1f5fa, "objects"],
  [0x1f5ff, "travel"],
  [0x1f644, "faces"],
  [0x1f64f, "people"],
  [0x1f6ff, "travel"],
  [0x1f7ff, "symbols"],
  [0x1f90c, "symbols"],
  [0x1f92f, "faces"],
  [0x1f93f, "people"],
  [0x1f94f, "activities"],
  [0x1f96f, "food"],
  [0x1f97a, "faces"],
  [0x1f97f, "objects"],
  [0x1f9ae, "nature"],
  [0x1f9cb, "food"],
  [0x1f9df, "people"],
  [0x1faff, "objects"],
];

function groupOf({ code }: Emoji): Group {
  const first = Number.parseInt(code, 16);
  return RANGES.find(([end]) => first <= end)?.[1] ?? "symbols";
}

function titleOf(group: Group): string {
  switch (group) {
    case "faces":
      return i18n.t("Faces");
    case "people":
      return i18n.t("People and hands");
    case "nature":
      return i18n.t("Animals and nature");
    case "food":
      return i18n.t("Food and drink");
    case "activities":
      return i18n.t("Activities");
    case "travel":
      return i18n.t("Travel and places");
    case "objects":
      return i18n.t("Objects");
    case "symbols":
      return i18n.t("Symbols");
    case "flags":
      return i18n.t("Flags");
  }
}

function recentNames(): string[] {
  try {
    return JSON.parse(localStorage.getItem(RECENT_KEY) ?? "[]") as string[];
  } catch {
    return [];
  }
}

function remember(name: string): void {
  try {
    const names = [name, ...recentNames().filter((each) => each !== name)].slice(0, MAX_RECENT);
    localStorage.setItem(RECENT_KEY, JSON.stringify(names));
  } catch {
    // Storage may be switched off.
  }
}

interface Section {
  title: string;
  emoji: readonly Emoji[];
}

function sectionsOf(): Section[] {
  // One emoji may have been chosen by several of its names.
  const named = new Set([...new Set([...recentNames(), ...COMMON])].map(emojiNamed));
  named.delete(undefined);
  const often = ([...named] as Emoji[]).slice(0, MAX_RECENT);
  const groups = new Map<Group, Emoji[]>(GROUPS.map((group) => [group, []]));
  const ordered = [...unicodeEmoji()].sort((one, other) => Number.parseInt(one.code, 16) - Number.parseInt(other.code, 16));
  for (const emoji of ordered) groups.get(groupOf(emoji))!.push(emoji);
  return [
    { title: i18n.t("Used often"), emoji: often },
    { title: i18n.t("Of this organization"), emoji: ownEmoji() },
    ...GROUPS.map((group) => ({ title: titleOf(group), emoji: groups.get(group)! })),
  ].filter((each) => each.emoji.length);
}

function toneName(each: Tone): string {
  switch (each) {
    case "":
      return i18n.t("No skin tone");
    case "1f3fb":
      return i18n.t("Light skin tone");
    case "1f3fc":
      return i18n.t("Medium-light skin tone");
    case "1f3fd":
      return i18n.t("Medium skin tone");
    case "1f3fe":
      return i18n.t("Medium-dark skin tone");
    case "1f3ff":
      return i18n.t("Dark skin tone");
  }
}

function TonePicker() {
  return (
    <fieldset class="emoji-tones">
      <legend class="visually-hidden">{i18n.t("Skin tone")}</legend>
      {TONES.map((each) => (
        <label key={each} title={toneName(each)}>
          <input type="radio" name="emoji-tone" class="visually-hidden" aria-label={toneName(each)} checked={tone.value === each} onChange={() => chooseTone(each)} />
          <span class="emoji-text" aria-hidden="true">
            {toned(HAND, each) ?? HAND}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface EmojiPickerProps {
  onPick: (emoji: Emoji) => void;
  /** Whether emoji are shown in the skin tone that was chosen, and another can be. */
  hasTones: boolean;
}

function EmojiPicker({ onPick, hasTones }: EmojiPickerProps) {
  watch("emoji");
  const chosenTone = hasTones ? tone.value : "";
  const version = emojiVersion.value;
  const [query, setQuery] = useState("");
  const [shown, setShown] = useState<Emoji | undefined>(undefined);
  const grid = useRef<HTMLDivElement>(null);
  const sections = useMemo<Section[]>(() => {
    if (!query.trim()) return sectionsOf();
    return [{ title: i18n.t("Found"), emoji: findEmoji(query, MAX_FOUND).map((each) => each.emoji) }];
  }, [query, version]);
  const count = sections.reduce((sum, each) => sum + each.emoji.length, 0);
  useEffect(() => setShown(undefined), [query]);
  const choose = (emoji: Emoji) => {
    remember(emoji.name);
    onPick(emoji);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...grid.current!.querySelectorAll<HTMLButtonElement>("button")];
    const index = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const right = document.dir === "rtl" ? -1 : 1;
    const steps: Record<string, number> = { ArrowDown: COLUMNS, ArrowUp: -COLUMNS, ArrowRight: right, ArrowLeft: -right };
    const step = steps[event.key];
    // Arrows among the skin tones are the browser's.
    if ((event.target as HTMLElement).matches("input[type=radio]")) return;
    if (event.key === "Enter" && index < 0) buttons[0]?.click();
    else if (step !== undefined && (index >= 0 || event.key === "ArrowDown")) {
      const next = index < 0 ? 0 : index + step;
      if (next < 0) grid.current!.parentElement!.querySelector("input")!.focus();
      else buttons[Math.min(next, buttons.length - 1)]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="emoji-picker" role="dialog" aria-label={i18n.t("Choose an emoji")} onKeyDown={onKeyDown}>
      <input
        type="search"
        data-autofocus
        aria-label={i18n.t("Search emoji")}
        placeholder={i18n.t("Search emoji")}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
      <div class="emoji-grid" ref={grid}>
        {sections.map((section) => (
          <section key={section.title} aria-label={section.title}>
            <h2>{section.title}</h2>
            <div class="emoji-rows">
              {section.emoji.map((emoji) => (
                <button
                  key={`${emoji.type} ${emoji.code}`}
                  type="button"
                  aria-label={emoji.name.replaceAll("_", " ")}
                  title={`:${emoji.name}:`}
                  onClick={() => choose(emoji)}
                  onFocus={() => setShown(emoji)}
                  onMouseEnter={() => setShown(emoji)}
                >
                  {emoji.url ? <img src={emoji.url} alt="" loading="lazy" /> : (toned(emoji.glyph, chosenTone) ?? emoji.glyph)}
                </button>
              ))}
            </div>
          </section>
        ))}
        {query && !count ? <p class="muted">{i18n.t("No emoji of this name.")}</p> : null}
      </div>
      <div class="emoji-foot">
        <p class="emoji-name" aria-hidden="true">
          {shown ? `:${shown.name}:` : " "}
        </p>
        {hasTones ? <TonePicker /> : null}
      </div>
      <div class="visually-hidden" aria-live="polite">
        {query ? i18n.t("{count, plural, one {# emoji} other {# emoji}}", { count }) : null}
      </div>
    </div>
  );
}

/** Open the picker at an element; it closes when an emoji is picked. */
export function openEmojiPicker(anchor: Anchor, onPick: (emoji: Emoji) => void, { hasTones = false } = {}): void {
  openPopover(
    anchor,
    (close) => (
      <EmojiPicker
        hasTones={hasTones}
        onPick={(emoji) => {
          close();
          onPick(emoji);
        }}
      />
    ),
    "emoji-popover",
  );
}
