import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import type { Emoji } from "../../model/emoji";
import { post } from "../../protocol/client";
import { load } from "../../ui/lazy";
import { EmojiImage } from "../../ui/emoji";
import { LimitedText } from "../../ui/limited-text";
import { attempt } from "../../ui/toast";
import { watch } from "../../ui/watch";
import { SaveNote, useSubmit } from "../settings/parts/saving";

const MAX_LENGTH = 60;
const NO_EMOJI: Emoji = { name: "", code: "", type: "unicode_emoji" };

function suggestions(): readonly (readonly [emoji: string, text: string])[] {
  return [
    ["working_on_it", i18n.t("Busy")],
    ["calendar", i18n.t("In a meeting")],
    ["bus", i18n.t("Commuting")],
    ["face_with_thermometer", i18n.t("Out sick")],
    ["palm_tree", i18n.t("On vacation")],
    ["house", i18n.t("Working remotely")],
  ];
}

/** The form of the user's own status. */
export function OwnStatus() {
  watch("statuses");
  const status = state().statuses.get(state().userId) ?? {};
  const [text, setText] = useState<string>();
  const [emoji, setEmoji] = useState<Emoji>();
  const [saving, run] = useSubmit();
  const shownText = text ?? status.status_text ?? "";
  const kept = { name: status.emoji_name ?? "", code: status.emoji_code ?? "", type: status.reaction_type ?? "unicode_emoji" };
  const shown = emoji ?? kept;
  const emojiName = shown.name.replaceAll("_", " ");
  const isChanged = shownText !== (status.status_text ?? "") || shown.name !== kept.name;
  const save = async (status_text: string, emoji_name: string) => {
    if (!(await run(() => post("/users/me/status", { status_text, emoji_name })))) return;
    setText(undefined);
    setEmoji(undefined);
  };
  const pick = (anchor: Element) =>
    attempt(async () => {
      const { openEmojiPicker } = await load(() => import("../../ui/emoji-picker"));
      openEmojiPicker(anchor, setEmoji);
    });
  return (
    <section class="setting-section">
      <h4>{i18n.t("Status")}</h4>
      <form
        class="small-form"
        data-unsaved={isChanged || undefined}
        onSubmit={(event) => {
          event.preventDefault();
          void save(shownText.trim(), shown.name);
        }}
      >
        <label>
          <span>{i18n.t("Status text")}</span>
          <LimitedText max={MAX_LENGTH} autocomplete="off" value={shownText} onText={setText} />
        </label>
        <div class="form-actions">
          <button type="button" aria-haspopup="dialog" aria-label={shown.name ? i18n.t("Emoji: {name}", { name: emojiName }) : undefined} onClick={(event) => void pick(event.currentTarget)}>
            {shown.name ? <EmojiImage emoji={shown} /> : null} {shown.name ? emojiName : i18n.t("Choose an emoji")}
          </button>
          {shown.name ? (
            <button type="button" class="quiet" onClick={() => setEmoji(NO_EMOJI)}>
              {i18n.t("Without emoji")}
            </button>
          ) : null}
        </div>
        <div class="form-actions">
          {suggestions().map(([name, suggested]) => (
            <button key={name} type="button" class="small" onClick={() => void save(suggested, name)}>
              {suggested}
            </button>
          ))}
        </div>
        <div class="form-actions">
          <button type="submit" class="primary" aria-disabled={!isChanged || undefined}>
            {i18n.t("Set status")}
          </button>
          {status.status_text || status.emoji_name ? (
            <button type="button" onClick={() => void save("", "")}>
              {i18n.t("Clear status")}
            </button>
          ) : null}
          <SaveNote saving={saving} />
        </div>
      </form>
    </section>
  );
}
