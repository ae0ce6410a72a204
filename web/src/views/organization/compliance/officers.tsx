import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { del, patch, post } from "../../../protocol/client";
import type { Officer } from "../../../protocol/types";
import { confirm } from "../../../ui/dialog";
import { shortTime } from "../../../ui/time";
import { userName } from "../../settings/parts/names";
import { PasswordField } from "../../settings/parts/password-field";
import { PeoplePicker } from "../../settings/parts/people-picker";
import { ActionButton, SaveNote, useSubmit } from "../../settings/parts/saving";
import { whyNoOfficer } from "./people";

interface OfficersProps {
  officers: Officer[];
  needs_two_persons: boolean;
  onDone: () => Promise<void>;
}

/** The officers, and whether two persons are needed; owners change both. */
export function Officers({ officers, needs_two_persons: needsTwo, onDone }: OfficersProps) {
  const isOwner = Boolean(state().fields.is_owner);
  return (
    <section class="setting-section">
      <h4>{i18n.t("Compliance officers")}</h4>
      <p class="faded">{i18n.t("Officers place legal holds, and search all messages in cases that they open with a reason. All owners are notified of each case and each search.")}</p>
      <ul class="item-list" aria-label={i18n.t("Compliance officers")}>
        {officers.map((each) => (
          <li key={each.user_id}>
            <Item of={each} isOwner={isOwner} onDone={onDone} />
          </li>
        ))}
      </ul>
      {officers.length ? null : <p class="faded list-empty">{i18n.t("There are no compliance officers.")}</p>}
      <p>{needsTwo ? i18n.t("Another officer has to approve each case.") : i18n.t("An officer opens cases alone.")}</p>
      {isOwner ? <Rules officers={officers} needsTwo={needsTwo} onDone={onDone} /> : null}
    </section>
  );
}

function Item({ of: { user_id, appointed_by, appointed_at }, isOwner, onDone }: { of: Officer; isOwner: boolean; onDone: () => Promise<void> }) {
  const name = userName(user_id);
  const dismiss = async () => {
    const isSure = await confirm({
      title: i18n.t("Dismiss {name} as a compliance officer?", { name }),
      text: i18n.t("The officer's cases are closed. Legal holds stay."),
      action: i18n.t("Dismiss"),
      isDangerous: true,
    });
    if (!isSure) return;
    await del(`/compliance/officers/${user_id}`);
    await onDone();
  };
  return (
    <div class="item">
      <div class="item-text">
        <a class="item-name" href={`#user/${user_id}`}>
          {name}
        </a>
        <span class="item-about">{i18n.t("Appointed by {name}, {time}", { name: userName(appointed_by), time: shortTime(appointed_at) })}</span>
      </div>
      {isOwner ? <ActionButton kind="small danger" name={i18n.t("Dismiss…")} label={i18n.t("Dismiss {name}", { name })} done=" " action={dismiss} /> : null}
    </div>
  );
}

/** What needs the owner's password. */
function Rules({ officers, needsTwo, onDone }: { officers: Officer[]; needsTwo: boolean; onDone: () => Promise<void> }) {
  const [chosen, setChosen] = useState<number>();
  const [password, setPassword] = useState("");
  const [saving, run] = useSubmit();
  const proof = password ? { old_password: password } : {};
  const done = async () => {
    setPassword("");
    setChosen(undefined);
    await onDone();
  };
  return (
    <form
      class="small-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (chosen !== undefined) void run(() => post("/compliance/officers", { user_id: chosen, ...proof }).then(done));
      }}
    >
      <div>
        <span class="field-name">{i18n.t("New compliance officer")}</span>
        <PeoplePicker
          label={i18n.t("New compliance officer")}
          chosen={chosen === undefined ? [] : [chosen]}
          without={new Set(officers.map(({ user_id }) => user_id))}
          unfit={whyNoOfficer}
          onChange={(ids) => setChosen(ids.at(-1))}
        />
      </div>
      <PasswordField label={i18n.t("Your password")} autocomplete="current-password" value={password} onInput={setPassword} />
      <div class="form-actions">
        <button type="submit" aria-disabled={chosen === undefined || undefined} title={chosen === undefined ? i18n.t("Choose a person first.") : undefined}>
          {i18n.t("Appoint")}
        </button>
        <ActionButton
          name={needsTwo ? i18n.t("Let officers open cases alone") : i18n.t("Require the approval of another officer")}
          done=" "
          action={() => patch("/compliance/rules", { needs_two_persons: !needsTwo, ...proof }).then(done)}
        />
        <SaveNote saving={saving} done={i18n.t("Appointed")} />
      </div>
    </form>
  );
}
