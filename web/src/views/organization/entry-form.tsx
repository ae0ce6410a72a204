import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { LimitedText } from "../../ui/limited-text";
import { SaveNote, useSubmit } from "../settings/parts/saving";

export type EntryField = {
  name: string;
  label: string;
  hint?: string;
} & (
  | {
      /** How many characters the server takes. */
      max: number | undefined;
      /** Return why the server would refuse what is written; undefined if it would not. */
      problemOf?: (text: string, values: Record<string, string>) => string | undefined;
      placeholder?: string;
      isOptional?: boolean;
      options?: undefined;
    }
  /** One of several values. */
  | { options: readonly (readonly [value: string, label: string])[] }
);

interface EntryFormProps {
  fields: readonly EntryField[];
  action: string;
  /** Values of an entry that is there already. */
  initial?: Record<string, string>;
  /** Close the form, where it was opened by a button: its first field has the focus then. */
  onCancel?: () => void;
  save: (values: Record<string, string>) => Promise<unknown>;
}

/** A form that adds an entry to a list, or changes one. It is emptied once the entry was accepted. */
export function EntryForm({ fields, action, initial, onCancel, save }: EntryFormProps) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [saving, run] = useSubmit();
  const valueOf = ({ name, options }: EntryField) => values[name] ?? initial?.[name] ?? options?.[0]?.[0] ?? "";
  const set = (name: string, value: string) => setValues({ ...values, [name]: value });
  const given = Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]));
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    if (onCancel) form.current!.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }, []);
  const isChanged = fields.some(({ name }) => values[name] !== undefined && values[name] !== (initial?.[name] ?? ""));
  return (
    <form
      ref={form}
      class="small-form"
      data-unsaved={isChanged || undefined}
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => save(given)).then((isDone) => {
          if (isDone) setValues({});
        });
      }}
    >
      {fields.map((field) => (
        <label key={field.name}>
          <span>{field.label}</span>
          {field.options ? (
            <select value={valueOf(field)} onChange={(event) => set(field.name, event.currentTarget.value)}>
              {field.options.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          ) : (
            <LimitedText
              autocomplete="off"
              required={!field.isOptional}
              placeholder={field.placeholder}
              max={field.max}
              problem={field.problemOf?.(valueOf(field), given)}
              value={valueOf(field)}
              onText={(text) => set(field.name, text)}
            />
          )}
          {field.hint ? <span class="setting-hint">{field.hint}</span> : null}
        </label>
      ))}
      <div class="form-actions">
        <button type="submit" class="primary">
          {action}
        </button>
        {onCancel ? (
          <button type="button" onClick={onCancel}>
            {i18n.t("Cancel")}
          </button>
        ) : null}
        <SaveNote saving={saving} />
      </div>
    </form>
  );
}
