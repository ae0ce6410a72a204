import { state } from "../../../app";
import { i18n } from "../../../i18n";
import type { Answer } from "../../../protocol/types";
import { useAnswer } from "../../settings/parts/answer";
import { Cases } from "./cases";
import { LegalHolds } from "./legal-holds";
import { Officers } from "./officers";

/** Legal holds, compliance officers and their cases; for owners and officers. */
export function CompliancePanel() {
  const { answer, problem, ask } = useAnswer<Answer<"GET /compliance/officers">>("/compliance/officers");
  if (problem) {
    return (
      <>
        <p class="faded">{i18n.t("Owners appoint compliance officers, who may search all messages for a stated reason. All owners are notified of each search.")}</p>
        <p class="problem">{problem}</p>
      </>
    );
  }
  if (!answer) return null;
  const isOfficer = answer.officers.some(({ user_id }) => user_id === state().fields.user_id);
  return (
    <>
      <LegalHolds />
      <Cases isOfficer={isOfficer} />
      <Officers {...answer} onDone={ask} />
    </>
  );
}
