import { useEffect, useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { topicName, userName } from "../../../model/names";
import type { Message } from "../../../model/state";
import { get } from "../../../protocol/client";
import { channelName } from "../../../router";
import { Dialog } from "../../../ui/dialog";
import { MessageHtml } from "../../../ui/message-html";
import { fullTime, shortTime } from "../../../ui/time";

interface Snapshot {
  timestamp: number;
  user_id: number | null;
  topic: string;
  prev_topic?: string;
  stream?: number;
  prev_stream?: number;
  rendered_content: string;
  prev_rendered_content?: string;
  content_html_diff?: string;
}

/** What a message was, and what was changed when. */
export function HistoryDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const [snapshots, setSnapshots] = useState<Snapshot[]>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    get<{ message_history: Snapshot[] }>(`/messages/${message.id}/history`, { allow_empty_topic_name: true }).then(
      (answer) => setSnapshots(answer.message_history.reverse()),
      (error: Error) => setProblem(error.message),
    );
  }, []);
  return (
    <Dialog title={i18n.t("Edit history")} size="medium" onClose={onClose}>
      {problem ? <p class="problem" role="alert">{problem}</p> : null}
      {!snapshots && !problem ? <p role="status">{i18n.t("Loading")}</p> : null}
      <ol class="history">
        {snapshots?.map((each, index) => (
          <Entry key={index} snapshot={each} isFirst={index === snapshots.length - 1} />
        ))}
      </ol>
    </Dialog>
  );
}

function Entry({ snapshot, isFirst }: { snapshot: Snapshot; isFirst: boolean }) {
  const { timestamp, user_id: userId } = snapshot;
  const person = userId === null ? i18n.t("The server") : userName(state(), userId);
  const isContent = snapshot.prev_rendered_content !== undefined;
  const channel = (id: number) => channelName(id) ?? i18n.t("a channel you have no access to");
  return (
    <li class="history-entry">
      <p class="history-when">
        <strong>{person}</strong>{" "}
        {isFirst ? i18n.t("wrote this") : isContent ? i18n.t("edited this") : i18n.t("moved this")}
        {" · "}
        <time dateTime={new Date(timestamp * 1000).toISOString()} title={fullTime(timestamp)}>{shortTime(timestamp)}</time>
      </p>
      {snapshot.prev_topic !== undefined ? (
        <p class="history-move">
          {i18n.t("Topic:")} <del>{topicName(state(), snapshot.prev_topic)}</del> → <ins>{topicName(state(), snapshot.topic)}</ins>
        </p>
      ) : null}
      {snapshot.prev_stream !== undefined && snapshot.stream !== undefined ? (
        <p class="history-move">
          {i18n.t("Channel:")} <del>{channel(snapshot.prev_stream)}</del> → <ins>{channel(snapshot.stream)}</ins>
        </p>
      ) : null}
      {isFirst || isContent ? <MessageHtml html={snapshot.content_html_diff ?? snapshot.rendered_content} /> : null}
    </li>
  );
}
