/** Looks that follow the settings: theme, sizes, contrast, language and direction of the page. */

import { effect } from "@preact/signals";
import { state } from "./app";
import { i18n } from "./i18n";
import { applyEmojiSet } from "./ui/emoji-set";
import { watch } from "./ui/watch";

const THEMES: Record<number, string> = { 2: "dark", 3: "light" };
const RIGHT_TO_LEFT = new Set(["ar", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]);

/** Tell the browser language and direction of the page. */
export function applyLanguage(): void {
  const root = document.documentElement;
  root.lang = i18n.locale;
  root.dir = RIGHT_TO_LEFT.has(i18n.locale.split("-")[0]!) ? "rtl" : "ltr";
}

function apply(): void {
  const root = document.documentElement;
  const { settings } = state();
  const theme = THEMES[Number(settings.color_scheme)];
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  if (settings.high_contrast_mode) root.dataset.contrast = "more";
  else delete root.dataset.contrast;
  const size = Number(settings.web_font_size_px);
  const line = Number(settings.web_line_height_percent);
  if (size) root.style.setProperty("--font-size", `${size}px`);
  if (line) root.style.setProperty("--line", String(line / 100));
  root.dataset.previews = String(state().fields.realm_media_preview_size ?? 100);
  applyLanguage();
  applyEmojiSet();
}

/** Apply the settings now, and whenever they change. */
export function followAppearance(): void {
  effect(() => {
    watch("settings", "realm");
    apply();
  });
}
