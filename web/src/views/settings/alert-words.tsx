import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { del, post } from "../../protocol/client";
import { LimitedText } from "../../ui/limited-text";
import { watch } from "../../ui/watch";
import { ActionButton, SaveNote, useSubmit } from "./parts/saving";

/** Words that notify as a mention does. */
export function AlertWords() {
  watch("alertWords");
  const [word, setWord] = useState("");
  const [saving, run] = useSubmit();
  const words = [...state().alertWords].sort(COLLATOR.compare);
  return (
    <>
      <p class="faded">{i18n.t("Messages with one of these words notify you as a mention does.")}</p>
      <form
        class="list-tools"
        onSubmit={(event) => {
          event.preventDefault();
          if (!word.trim()) return;
          void run(() => post("/users/me/alert_words", { alert_words: [word.trim()] })).then((isDone) => {
            if (isDone) setWord("");
          });
        }}
      >
        <LimitedText aria-label={i18n.t("Word or phrase")} placeholder={i18n.t("Word or phrase")} max={100} value={word} onText={setWord} />
        <button type="submit" class="primary">
          {i18n.t("Add")}
        </button>
        <SaveNote saving={saving} />
      </form>
      <ul class="item-list" aria-label={i18n.t("Alert words")}>
        {words.map((each) => (
          <li key={each}>
            <div class="item">
              <span class="item-text">{each}</span>
              <ActionButton
                kind="small"
                name={i18n.t("Remove")}
                label={i18n.t("Remove {name}", { name: each })}
                done=" "
                action={() => del("/users/me/alert_words", { alert_words: [each] })}
              />
            </div>
          </li>
        ))}
      </ul>
      {words.length ? null : <p class="faded list-empty">{i18n.t("There are none yet.")}</p>}
    </>
  );
}
