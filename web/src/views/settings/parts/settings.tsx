/** Settings as data: each is one line, and takes effect at once. */

import type { ComponentChild, TargetedKeyboardEvent } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { i18n } from "../../../i18n";
import { type Confirmation, confirm } from "../../../ui/dialog";
import { LimitedText } from "../../../ui/limited-text";
import { GroupPicker, type PermissionKind } from "./group-picker";
import { PeoplePicker } from "./people-picker";
import { SaveNote, useSaving } from "./saving";

interface Common {
  /** Name in the protocol. */
  name: string;
  label: string;
  hint?: string;
}

export type Setting = Common &
  (
    | { kind: "toggle" }
    | {
        kind: "choice";
        options: readonly (readonly [value: unknown, label: string])[];
        /** What to ask before a value is saved; undefined if nothing. */
        confirm?: (value: unknown) => Confirmation | undefined | Promise<Confirmation | undefined>;
      }
    /** `max` is how many characters the server takes. */
    | { kind: "text"; max: number | undefined; placeholder?: string }
    | { kind: "longtext"; max: number | undefined }
    | { kind: "number"; min: number; max: number; unit?: string }
    | { kind: "color" }
    | { kind: "date" }
    | { kind: "people" }
    | { kind: "group"; of: PermissionKind }
  );

export interface Section {
  title: string;
  settings: readonly Setting[];
  note?: string;
}

/** Where settings are read from and saved to. */
export interface Source {
  read: (name: string) => unknown;
  save: (name: string, value: unknown) => Promise<unknown>;
  /** Why the user may not change a setting; undefined if allowed. */
  reason?: (name: string) => string | undefined;
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

export function SettingsForm({ sections, source }: { sections: readonly Section[]; source: Source }) {
  const id = useId();
  const reasons = new Set(sections.flatMap(({ settings }) => settings.map(({ name }) => source.reason?.(name))));
  // Where nothing may be changed for one reason, it is given once.
  const [common] = reasons.size === 1 ? reasons : [];
  const explainedBy = common ? id : undefined;
  return (
    <>
      {common ? (
        <p class="faded" id={id}>
          {common}
        </p>
      ) : null}
      {sections.map(({ title, settings, note }) => (
        <section key={title} class="setting-section">
          <h4>{title}</h4>
          {note ? <p class="faded">{note}</p> : null}
          {settings.map((setting) => (
            <SettingRow key={setting.name} setting={setting} source={source} explainedBy={explainedBy} />
          ))}
        </section>
      ))}
    </>
  );
}

interface SettingRowProps {
  setting: Setting;
  source: Source;
  /** The id of an element that says why it may not be changed, where that is not said here. */
  explainedBy?: string | undefined;
}

/** One setting with its control. The chosen value is shown until the server has answered. */
export function SettingRow({ setting, source, explainedBy }: SettingRowProps) {
  const [saving, run] = useSaving();
  const [pending, setPending] = useState<{ value: unknown; before: unknown }>();
  const id = useId();
  const current = source.read(setting.name);
  const value = pending && same(pending.before, current) ? pending.value : current;
  const reason = source.reason?.(setting.name);
  const save = async (next: unknown): Promise<boolean> => {
    if (same(next, value)) return true;
    const question = setting.kind === "choice" ? await setting.confirm?.(next) : undefined;
    if (question && !(await confirm(question))) {
      // The control shows the saved value again.
      setPending({ value: current, before: current });
      return false;
    }
    setPending({ value: next, before: current });
    const isSaved = await run(() => source.save(setting.name, next));
    if (!isSaved) setPending(undefined);
    return isSaved;
  };
  const text = [setting.hint, explainedBy ? undefined : reason].filter(Boolean).join(" ");
  const described = [text ? `${id}-hint` : undefined, explainedBy].filter(Boolean).join(" ") || undefined;
  const hint = text ? (
    <span class="setting-hint" id={`${id}-hint`}>
      {text}
    </span>
  ) : null;
  const control = { id, described, isOff: Boolean(reason), save };
  if (setting.kind === "toggle") {
    return (
      <div class="setting is-toggle">
        <input
          type="checkbox"
          class="switch"
          role="switch"
          id={id}
          checked={Boolean(value)}
          disabled={control.isOff}
          aria-describedby={described}
          onChange={(event) => void save(event.currentTarget.checked)}
        />
        <label for={id}>{setting.label}</label>
        <SaveNote saving={saving} />
        {hint}
      </div>
    );
  }
  return (
    <div class={`setting is-${setting.kind}`}>
      <label for={id}>{setting.label}</label>
      <SaveNote saving={saving} />
      {controlOf(setting, value, control)}
      {hint}
    </div>
  );
}

interface Control {
  id: string;
  described: string | undefined;
  isOff: boolean;
  /** Save the value; resolves to whether it was saved. */
  save: (value: unknown) => Promise<boolean>;
}

function controlOf(setting: Exclude<Setting, { kind: "toggle" }>, value: unknown, control: Control): ComponentChild {
  const { id, described, isOff, save } = control;
  switch (setting.kind) {
    case "choice": {
      const isListed = setting.options.some(([each]) => same(each, value));
      return (
        <select
          id={id}
          disabled={isOff}
          aria-describedby={described}
          value={JSON.stringify(value ?? null)}
          onChange={(event) => void save(JSON.parse(event.currentTarget.value))}
        >
          {isListed ? null : <option value={JSON.stringify(value ?? null)}>{String(value ?? i18n.t("Not set"))}</option>}
          {setting.options.map(([each, label]) => (
            <option key={label} value={JSON.stringify(each)}>
              {label}
            </option>
          ))}
        </select>
      );
    }
    case "group":
      return <GroupPicker id={id} name={setting.name} of={setting.of} label={setting.label} value={value as number} isOff={isOff} onChange={(next) => void save(next)} />;
    case "people":
      return <PeoplePicker label={setting.label} chosen={(value as number[] | null) ?? []} onChange={(ids) => void save(ids)} />;
    case "date":
      return (
        <input
          type="date"
          id={id}
          disabled={isOff}
          aria-describedby={described}
          value={String(value ?? "")}
          onChange={(event) => void save(event.currentTarget.value)}
        />
      );
    case "color":
      return (
        <input
          type="color"
          id={id}
          disabled={isOff}
          aria-describedby={described}
          value={String(value ?? "#999999")}
          onChange={(event) => void save(event.currentTarget.value)}
        />
      );
    case "number":
      return (
        <span class="setting-number">
          <input
            type="number"
            id={id}
            min={setting.min}
            max={setting.max}
            disabled={isOff}
            aria-describedby={described}
            value={Number(value)}
            onChange={(event) => {
              if (event.currentTarget.reportValidity() && event.currentTarget.value !== "") void save(event.currentTarget.valueAsNumber);
            }}
          />{" "}
          {setting.unit}
        </span>
      );
    case "text":
      return <TextControl {...control} value={String(value ?? "")} max={setting.max} placeholder={setting.placeholder} isLong={false} />;
    case "longtext":
      return <TextControl {...control} value={String(value ?? "")} max={setting.max} placeholder={undefined} isLong />;
  }
}

interface TextControlProps extends Control {
  value: string;
  max: number | undefined;
  placeholder: string | undefined;
  isLong: boolean;
}

/** A field that is saved by Enter or its button, and by nothing else; Escape takes back what was written. */
function TextControl({ id, described, isOff, save, value, max, placeholder, isLong }: TextControlProps) {
  const [text, setText] = useState<string>();
  const shown = text ?? value;
  const isChanged = shown !== value;
  /** The value when writing began: another one since then is of another user. */
  const begun = useRef(value);
  if (text === undefined) begun.current = value;
  const isContested = isChanged && begun.current !== value;
  const finish = () => {
    if (!isChanged) return;
    // What is refused stays, to be corrected.
    void save(shown).then((isSaved) => isSaved && setText(undefined));
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement | HTMLTextAreaElement>) => {
    if (event.key !== "Escape" || !isChanged) return;
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.form!.reset();
  };
  const common = { onKeyDown, id, disabled: isOff, max, placeholder, "aria-describedby": described, value: shown, onText: setText };
  return (
    <form
      class="setting-text"
      data-unsaved={isChanged || undefined}
      onSubmit={(event) => {
        event.preventDefault();
        finish();
      }}
      onReset={(event) => {
        event.preventDefault();
        setText(undefined);
      }}
    >
      <LimitedText {...common} autocomplete="off" rows={isLong ? 3 : undefined} />
      {isChanged ? (
        <>
          <button type="submit" class="primary">
            {i18n.t("Save")}
          </button>
          <button type="reset">
            {i18n.t("Cancel")}
          </button>
        </>
      ) : null}
      <span class="setting-hint" role="status">
        {isContested ? i18n.t("Changed meanwhile to “{value}”. Saving replaces it.", { value }) : null}
      </span>
    </form>
  );
}
