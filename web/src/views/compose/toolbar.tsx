/** Buttons of the compose box. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import type { Emoji } from "../../ui/emoji-data";
import { tone, toned } from "../../ui/emoji-tones";
import { Icon, type IconName } from "../../ui/icons";
import { load } from "../../ui/lazy";
import { watch } from "../../ui/watch";
import { format, type Format, insertion } from "./formatting";
import { formats } from "./formats";
import type { TextBox } from "./textarea";

/** Open the picker of emoji; what is picked stands at the caret. */
async function pickEmoji(box: TextBox, anchor: HTMLElement): Promise<void> {
  const { openEmojiPicker } = await load(() => import("../../ui/emoji-picker"));
  const insert = ({ name, glyph }: Emoji) => {
    const { text, start, end } = box.selection();
    const before = start > 0 && !/\s$/.test(text.slice(0, start)) ? " " : "";
    box.apply(insertion(text, start, end, `${before}${toned(glyph, tone.value) ?? `:${name}:`} `));
  };
  openEmojiPicker(anchor, insert, { hasTones: true });
}

/** Apply a format to what is selected. */
export function applyFormat(box: TextBox, kind: Format): void {
  const { text, start, end } = box.selection();
  box.apply(format(kind, text, start, end));
}

export function ToolButton(props: {
  icon: IconName;
  label: string;
  keys?: string | undefined;
  isPressed?: boolean;
  isExpanded?: boolean;
  /** What is shown, if the label is a name by which programs find the button, in English. */
  title?: string;
  class?: string;
  onClick: (event: MouseEvent) => void;
}) {
  const keys = props.keys?.replace("Control", i18n.t("Ctrl"));
  const title = props.title ?? props.label;
  return (
    <button
      type="button"
      class={`bare tool ${props.class ?? ""}`}
      aria-label={props.label}
      aria-keyshortcuts={props.keys}
      aria-pressed={props.isPressed}
      aria-expanded={props.isExpanded}
      title={keys ? `${title} (${keys})` : title}
      // The selection in the text stays.
      onMouseDown={(event) => event.preventDefault()}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

export interface ToolbarProps {
  box: TextBox;
  isPreview: boolean;
  onPreview: () => void;
  onFiles: (files: File[]) => void;
  /** Buttons beside those of formats. */
  children?: ComponentChildren;
}

/** Buttons for a text that is written; those of formats are folded where there is little room. */
export function Toolbar({ box, isPreview, onPreview, onFiles, children }: ToolbarProps) {
  watch("realm");
  const picker = useRef<HTMLInputElement>(null);
  const [isUnfolded, setUnfolded] = useState(false);
  return (
    <div class="compose-tools">
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      {Number(state().fields.max_file_upload_size_mib ?? 0) > 0 ? (
        <ToolButton icon="attach" label="Attach files" title={i18n.t("Attach files")} onClick={() => picker.current?.click()} />
      ) : null}
      <ToolButton icon="smile" label="Emoji" title={i18n.t("Emoji")} onClick={(event) => void pickEmoji(box, event.currentTarget as HTMLElement)} />
      <ToolButton icon={isPreview ? "edit" : "eye"} label="Preview" title={i18n.t("Preview")} isPressed={isPreview} onClick={onPreview} />
      <ToolButton
        icon="format"
        class="fold"
        label={i18n.t("Formatting")}
        isExpanded={isUnfolded}
        onClick={() => setUnfolded(!isUnfolded)}
      />
      <div class={isUnfolded ? "formats unfolded" : "formats"} role="group" aria-label={i18n.t("Formatting buttons")}>
        {formats().map(([kind, icon, label, keys]) => (
          <ToolButton key={kind} icon={icon} label={label} keys={keys} onClick={() => applyFormat(box, kind)} />
        ))}
        {children}
      </div>
    </div>
  );
}
