import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { topicName } from "../../../model/names";
import { type Channel, topicKey } from "../../../model/state";
import { put } from "../../../protocol/client";
import { Dialog, openDialog } from "../../../ui/dialog";
import { Problem } from "../../../ui/problem";
import { LimitedText } from "../../../ui/limited-text";

const MAX_LENGTH = 1000;

/** Ask for the description of a topic. */
export function openDescribeTopic(channel: Channel, topic: string): void {
  openDialog((close) => <DescribeTopicDialog channel={channel} topic={topic} onClose={close} />);
}

function DescribeTopicDialog({ channel, topic, onClose }: { channel: Channel; topic: string; onClose: () => void }) {
  const [description, setDescription] = useState(state().topicDescriptions.get(topicKey(channel.stream_id, topic))?.description ?? "");
  const [problem, setProblem] = useState("");
  const [isSaving, setSaving] = useState(false);
  const save = async () => {
    if (isSaving) return;
    setSaving(true);
    try {
      await put(`/streams/${channel.stream_id}/topic_descriptions`, { topic, description });
      onClose();
    } catch (error) {
      setProblem((error as Error).message);
      setSaving(false);
    }
  };
  return (
    <Dialog
      title={i18n.t("Description of {topic}", { topic: topicName(state(), topic) })}
      size="narrow"
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>{i18n.t("Cancel")}</button>
          <button type="button" class="primary" aria-disabled={isSaving} onClick={() => void save()}>{i18n.t("Save")}</button>
        </>
      }
    >
      <label class="field">
        <span>{i18n.t("Description")}</span>
        <LimitedText rows={4} dir="auto" max={MAX_LENGTH} value={description} data-autofocus onText={setDescription} />
      </label>
      <p class="hint">{i18n.t("Shown above the topic's messages. Without a text, nothing is shown.")}</p>
      <Problem text={problem} clear={setProblem} />
    </Dialog>
  );
}
