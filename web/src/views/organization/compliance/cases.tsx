import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { post } from "../../../protocol/client";
import type { Answer, ComplianceCase } from "../../../protocol/types";
import { shortTime } from "../../../ui/time";
import { useAnswer } from "../../settings/parts/answer";
import { userName } from "../../settings/parts/names";
import { PasswordField } from "../../settings/parts/password-field";
import { ActionButton, SaveNote, useSubmit } from "../../settings/parts/saving";
import { Search } from "./search";

const DEFAULT_HOURS = 24;
const MAX_HOURS = 168;

/** Cases in which officers search all messages; owners see and close them. */
export function Cases({ isOfficer }: { isOfficer: boolean }) {
  const { answer, problem, ask } = useAnswer<Answer<"GET /compliance/cases">>("/compliance/cases");
  const [password, setPassword] = useState("");
  const cases = answer?.cases ?? [];
  const proof = password ? { old_password: password } : {};
  const done = async () => {
    setPassword("");
    await ask();
  };
  return (
    <section class="setting-section">
      <h4>{i18n.t("Cases")}</h4>
      {problem ? <p class="problem">{problem}</p> : null}
      <ul class="item-list" aria-label={i18n.t("Cases")}>
        {cases.map((each) => (
          <li key={each.id}>
            <Item of={each} isOfficer={isOfficer} proof={proof} onDone={done} />
          </li>
        ))}
      </ul>
      {answer && !cases.length ? <p class="faded list-empty">{i18n.t("There are no cases.")}</p> : null}
      {isOfficer ? (
        <div class="small-form">
          <PasswordField label={i18n.t("Your password, to open or approve a case")} autocomplete="current-password" value={password} onInput={setPassword} />
          <Open proof={proof} onDone={done} />
        </div>
      ) : null}
    </section>
  );
}

type Proof = { old_password?: string };

function stateOf({ state: now, ends_at }: ComplianceCase): string {
  if (now === "waiting") return i18n.t("Waits for an approval");
  return now === "open" ? i18n.t("Open until {time}", { time: shortTime(ends_at ?? 0) }) : i18n.t("Closed");
}

interface ItemProps {
  of: ComplianceCase;
  isOfficer: boolean;
  proof: Proof;
  onDone: () => Promise<void>;
}

function Item({ of: shown, isOfficer, proof, onDone }: ItemProps) {
  const { id, creator_id, reason, opened_at, searches, approver_id } = shown;
  const isOwn = creator_id === state().fields.user_id;
  return (
    <>
      <div class="item">
        <div class="item-text">
          <strong dir="auto">{reason}</strong>
          <span class="tag">{stateOf(shown)}</span>
          <span class="item-about">
            {userName(creator_id)} · {shortTime(opened_at)} · {i18n.t("{count, plural, =0 {no searches} one {# search} other {# searches}}", { count: searches })}
            {approver_id === null ? null : <> · {i18n.t("approved by {name}", { name: userName(approver_id) })}</>}
          </span>
        </div>
        {shown.state === "waiting" && isOfficer && !isOwn ? (
          <ActionButton kind="small" name={i18n.t("Approve")} label={i18n.t("Approve the case {reason}", { reason })} done=" " action={() => post(`/compliance/cases/${id}/approve`, proof).then(onDone)} />
        ) : null}
        {shown.state === "closed" ? null : (
          <ActionButton kind="small danger" name={i18n.t("Close")} label={i18n.t("Close the case {reason}", { reason })} done=" " action={() => post(`/compliance/cases/${id}/close`).then(onDone)} />
        )}
      </div>
      {shown.state === "open" && isOwn ? <Search caseId={id} /> : null}
    </>
  );
}

function Open({ proof, onDone }: { proof: Proof; onDone: () => Promise<void> }) {
  const [reason, setReason] = useState("");
  const [hours, setHours] = useState(DEFAULT_HOURS);
  const [saving, run] = useSubmit();
  const open = async () => {
    await post("/compliance/cases", { reason, hours, ...proof });
    setReason("");
    await onDone();
  };
  return (
    <form
      class="small-form"
      data-unsaved={reason ? "" : undefined}
      onSubmit={(event) => {
        event.preventDefault();
        void run(open);
      }}
    >
      <label>
        <span>{i18n.t("Reason of the case")}</span>
        <textarea required maxLength={2000} rows={2} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <label>
        <span>{i18n.t("Hours for which it is open")}</span>
        <input type="number" required min={1} max={MAX_HOURS} value={hours} onInput={(event) => setHours(event.currentTarget.valueAsNumber)} />
      </label>
      <div class="form-actions">
        <button type="submit">{i18n.t("Open a case")}</button>
        <SaveNote saving={saving} done={i18n.t("Opened. All owners are notified.")} />
      </div>
    </form>
  );
}
