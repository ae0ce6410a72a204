import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import type { Message } from "../../../model/state";
import { post } from "../../../protocol/client";
import { Dialog } from "../../../ui/dialog";
import { Problem } from "../../../ui/problem";
import { LimitedText } from "../../../ui/limited-text";
import { toast } from "../../../ui/toast";

/** Report a message to the organization's moderators. */
export function ReportDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const [type, setType] = useState("spam");
  const [description, setDescription] = useState("");
  const [problem, setProblem] = useState("");
  const isMissing = type === "other" && !description.trim();
  const send = async () => {
    if (isMissing) return;
    try {
      await post(`/messages/${message.id}/report`, { report_type: type, description: description.trim() });
      toast(i18n.t("The moderators were told."));
      onClose();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <Dialog
      title={i18n.t("Report a message")}
      size="narrow"
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>{i18n.t("Cancel")}</button>
          <button type="button" class="primary" aria-disabled={isMissing} onClick={() => void send()}>{i18n.t("Report")}</button>
        </>
      }
    >
      <label class="field">
        <span>{i18n.t("What is wrong with it")}</span>
        <select value={type} data-autofocus onChange={(event) => setType(event.currentTarget.value)}>
          {(state().fields.server_report_message_types ?? []).map(({ key, name }) => (
            <option key={key} value={key}>{name}</option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>{i18n.t("Explanation")}</span>
        <LimitedText rows={4} dir="auto" max={1000} value={description} onText={setDescription} />
      </label>
      <p class="hint">{i18n.t("The moderators see the message, and that you reported it. Its sender does not learn of it.")}</p>
      <Problem text={problem} clear={setProblem} />
    </Dialog>
  );
}
