import { useEffect, useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { canMoveChannel, canMoveTopic } from "../../../model/message-permissions";
import { channelPermits, readsChannel } from "../../../model/permissions";
import type { Message } from "../../../model/state";
import { ApiError, get, patch } from "../../../protocol/client";
import { Dialog } from "../../../ui/dialog";
import { LimitedText } from "../../../ui/limited-text";

type Mode = "change_one" | "change_later" | "change_all";

interface MoveDialogProps {
  message: Message;
  /** What may be changed of the whole topic; without it, which messages are moved is asked for. */
  scope?: "name" | "place";
  onClose: () => void;
}

/** Move a message, or more of its topic, to another topic or channel. */
export function MoveDialog({ message, scope, onClose }: MoveDialogProps) {
  const now = Date.now();
  const mayMoveTopic = canMoveTopic(state(), message, now);
  const mayMoveChannel = canMoveChannel(state(), message, now);
  const [topic, setTopic] = useState(message.subject);
  const [channelId, setChannelId] = useState(message.stream_id!);
  const [mode, setMode] = useState<Mode>(scope ? "change_all" : "change_later");
  const [noticeOld, setNoticeOld] = useState(false);
  const [noticeNew, setNoticeNew] = useState(true);
  const [problem, setProblem] = useState("");
  const [isMoving, setMoving] = useState(false);
  const topics = useTopics(channelId);
  const isSame = topic.trim() === message.subject && channelId === message.stream_id;
  const move = async (wanted: Mode) => {
    if (isSame || isMoving) return;
    setMoving(true);
    setProblem("");
    try {
      await patch(`/messages/${message.id}`, {
        ...(topic.trim() === message.subject ? {} : { topic: topic.trim() }),
        ...(channelId === message.stream_id ? {} : { stream_id: channelId }),
        propagate_mode: wanted,
        send_notification_to_old_thread: noticeOld,
        send_notification_to_new_thread: noticeNew,
      });
      onClose();
    } catch (error) {
      setProblem(describe(error as Error));
    } finally {
      setMoving(false);
    }
  };
  return (
    <Dialog
      title={scope === "name" ? i18n.t("Rename topic") : scope ? i18n.t("Move topic") : i18n.t("Move messages")}
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>{i18n.t("Cancel")}</button>
          <button type="button" class="primary" aria-disabled={isSame || isMoving} onClick={() => void move(mode)}>
            {isMoving ? i18n.t("Moving") : scope === "name" ? i18n.t("Rename") : i18n.t("Move")}
          </button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void move(mode);
        }}
      >
        {scope === "name" ? null : <ChannelField value={channelId} onChange={setChannelId} mayChange={mayMoveChannel} />}
        <label class="field">
          <span>{i18n.t("Topic")}</span>
          <LimitedText
            value={topic}
            dir="auto"
            list="move-topics"
            data-autofocus
            readOnly={!mayMoveTopic && channelId === message.stream_id}
            max={Number(state().fields.max_topic_length ?? 60)}
            placeholder={String(state().fields.realm_empty_topic_display_name ?? "")}
            onText={setTopic}
          />
          <datalist id="move-topics">
            {topics.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </label>
        {scope ? null : (
          <fieldset class="choices">
            <legend>{i18n.t("Which messages")}</legend>
            <ModeChoice mode="change_one" now={mode} onChange={setMode} text={i18n.t("This message only")} />
            <ModeChoice mode="change_later" now={mode} onChange={setMode} text={i18n.t("This message and those after it")} />
            <ModeChoice mode="change_all" now={mode} onChange={setMode} text={i18n.t("All messages of the topic")} />
          </fieldset>
        )}
        <label class="choice">
          <input type="checkbox" checked={noticeNew} onChange={(event) => setNoticeNew(event.currentTarget.checked)} />
          {i18n.t("Post a notice in the new place")}
        </label>
        <label class="choice">
          <input type="checkbox" checked={noticeOld} onChange={(event) => setNoticeOld(event.currentTarget.checked)} />
          {i18n.t("Post a notice in the old place")}
        </label>
        <button type="submit" hidden />
      </form>
      {problem ? <p class="problem" role="alert">{problem}</p> : null}
    </Dialog>
  );
}

function describe(error: Error): string {
  if (!(error instanceof ApiError) || error.code !== "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED") return error.message;
  return i18n.t("Some of these messages are too old for you to move. Choose this message and those after it, or this message only.");
}

function ChannelField({ value, onChange, mayChange }: { value: number; onChange: (id: number) => void; mayChange: boolean }) {
  const { channels } = state();
  const possible = [...channels.values()]
    .filter((each) => each.stream_id === value || (!each.is_archived && readsChannel(state(), each) && channelPermits(state(), each, "can_send_message_group")))
    .sort((one, other) => Number(other.is_subscribed) - Number(one.is_subscribed) || one.name.localeCompare(other.name));
  return (
    <label class="field">
      <span>{i18n.t("Channel")}</span>
      <select value={value} disabled={!mayChange} onChange={(event) => onChange(Number(event.currentTarget.value))}>
        {possible.map((each) => (
          <option key={each.stream_id} value={each.stream_id}>{each.name}</option>
        ))}
      </select>
      {mayChange ? null : <p class="hint">{i18n.t("You cannot move messages of this channel to another.")}</p>}
    </label>
  );
}

function ModeChoice({ mode, now, onChange, text }: { mode: Mode; now: Mode; onChange: (mode: Mode) => void; text: string }) {
  return (
    <label class="choice">
      <input type="radio" name="mode" checked={mode === now} onChange={() => onChange(mode)} />
      {text}
    </label>
  );
}

function useTopics(channelId: number): string[] {
  const [topics, setTopics] = useState<string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    get<{ topics: { name: string }[] }>(`/users/me/${channelId}/topics`, { allow_empty_topic_name: true }, { signal: abort.signal }).then(
      (answer) => setTopics(answer.topics.map((each) => each.name).filter(Boolean)),
      () => setTopics([]),
    );
    return () => abort.abort();
  }, [channelId]);
  return topics;
}
