import type { ComponentChild } from "preact";
import { useId } from "preact/hooks";
import { i18n } from "../../../i18n";
import { ActionButton, SaveNote, useSaving } from "./saving";

interface PictureFieldProps {
  label: string;
  picture: ComponentChild;
  maxMib: number;
  upload: (file: File) => Promise<unknown>;
  remove?: () => Promise<unknown>;
  reason?: string | undefined;
}

/** A picture that is uploaded as soon as its file is chosen. */
export function PictureField({ label, picture, maxMib, upload, remove, reason }: PictureFieldProps) {
  const id = useId();
  const [saving, run] = useSaving();
  const choose = (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (!file) return;
    void run(async () => {
      if (file.size > maxMib * 1024 * 1024) throw new Error(i18n.t("The file is larger than {size} MiB.", { size: maxMib }));
      await upload(file);
    }).then(() => {
      input.value = "";
    });
  };
  return (
    <div class="picture-row">
      {picture}
      <div>
        {reason ? (
          <strong>{label}</strong>
        ) : (
          <>
            <label for={id}>{label}</label>
            <div class="form-actions">
              <input type="file" id={id} accept="image/*" onChange={(event) => choose(event.currentTarget)} />
              {remove ? <ActionButton kind="small" name={i18n.t("Remove")} label={i18n.t("Remove: {label}", { label })} done=" " action={remove} /> : null}
              <SaveNote saving={saving} />
            </div>
          </>
        )}
        <span class="setting-hint">{reason ?? i18n.t("At most {size} MiB", { size: maxMib })}</span>
      </div>
    </div>
  );
}
