import { useEffect, useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { canMoveChannel, canMoveTopic } from "../../../model/message-permissions";
import { emptyTopicName, topicName } from "../../../model/names";
import { channelPermits, readsChannel } from "../../../model/permissions";
import { topicNarrow } from "../../../model/narrow";
import type { Message } from "../../../model/state";
import { ApiError, get, patch } from "../../../protocol/client";
import { addressOf } from "../../../router";
import { Dialog } from "../../../ui/dialog";
import { Problem } from "../../../ui/problem";
import { LimitedText } from "../../../ui/limited-text";
import { toast } from "../../../ui/toast";
import { cleanTopic } from "../../compose/rules";
import { type Refused, refusedBy } from "../refused";

type Mode = "change_one" | "change_later" | "change_all";

interface MoveDialogProps {
  message: Message;
  /** What may be changed of the whole topic; without it, which messages are moved is asked for. */
  scope?: "name" | "place";
  /** Messages of the channel that are moved instead, and nothing else of their topics. */
  chosen?: readonly Message[];
  /** Number of messages that were chosen besides, and are not moved. */
  left?: number;
  onMoved?: () => void;
  onClose: () => void;
}

/** Move a message, or more of its topic, or chosen messages, to another topic or channel. */
export function MoveDialog({ message, scope, chosen, left, onMoved, onClose }: MoveDialogProps) {
  const now = Date.now();
  const [moved, setMoved] = useState(chosen ?? [message]);
  const mayMoveTopic = moved.every((each) => canMoveTopic(state(), each, now));
  const mayMoveChannel = moved.every((each) => canMoveChannel(state(), each, now));
  // Undefined: each message keeps its topic.
  const known = moved.every((each) => each.subject === message.subject) ? message.subject : undefined;
  const [topic, setTopic] = useState(known);
  const [channelId, setChannelId] = useState(message.stream_id!);
  const [mode, setMode] = useState<Mode>(scope ? "change_all" : "change_later");
  const [noticeOld, setNoticeOld] = useState(false);
  const [noticeNew, setNoticeNew] = useState(true);
  const [problem, setProblem] = useState("");
  const [refused, setRefused] = useState<Refused | undefined>(undefined);
  const [isMoving, setMoving] = useState(false);
  const topics = useTopics(channelId);
  const named = topic === undefined ? undefined : cleanTopic(state(), topic);
  const newTopic = named === known ? undefined : named;
  const isSame = (newTopic === undefined && channelId === message.stream_id) || !moved.length;
  const move = async (wanted: Mode) => {
    if (isSame || isMoving) return;
    setMoving(true);
    setProblem("");
    setRefused(undefined);
    try {
      await patch(chosen ? "/messages" : `/messages/${message.id}`, {
        topic: newTopic,
        stream_id: channelId === message.stream_id ? undefined : channelId,
        ...(chosen ? { message_ids: moved.map((each) => each.id) } : { propagate_mode: wanted }),
        send_notification_to_old_thread: noticeOld,
        send_notification_to_new_thread: noticeNew,
      });
      onClose();
      onMoved?.();
      const place = newTopic ?? message.subject;
      toast(i18n.t("Moved to {place}.", { place: `#${state().channels.get(channelId)?.name ?? ""} > ${topicName(state(), place)}` }), {
        link: { href: addressOf(topicNarrow(channelId, place, message.id)), label: i18n.t("Go there") },
      });
    } catch (error) {
      setProblem(describe(error as Error));
      setRefused(refusedBy(error));
    } finally {
      setMoving(false);
    }
  };
  return (
    <Dialog
      title={chosen ? moveTitle(moved.length) : scope === "name" ? i18n.t("Rename topic") : scope ? i18n.t("Move topic") : i18n.t("Move messages")}
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
            value={topic ?? ""}
            dir="auto"
            list="move-topics"
            data-autofocus
            readOnly={!mayMoveTopic && channelId === message.stream_id}
            max={Number(state().fields.max_topic_length ?? 60)}
            placeholder={topic === undefined ? i18n.t("Each message keeps its topic") : emptyTopicName(state())}
            onText={setTopic}
          />
          <datalist id="move-topics">
            {topics.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </label>
        {scope || chosen ? null : (
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
      {left ? <p class="hint">{i18n.t("{count, plural, one {You cannot move # of the selected messages: it stays.} other {You cannot move # of the selected messages: they stay.}}", { count: left })}</p> : null}
      <Problem text={problem} clear={setProblem} />
      {refused && refused.ids.size < moved.length ? (
        <button
          type="button"
          onClick={() => {
            setMoved(moved.filter((each) => !refused.ids.has(each.id)));
            setRefused(undefined);
            setProblem("");
          }}
        >
          {i18n.t("{count, plural, one {Leave # message out} other {Leave # messages out}}", { count: refused.ids.size })}
        </button>
      ) : null}
    </Dialog>
  );
}

function moveTitle(count: number): string {
  return i18n.t("{count, plural, one {Move # message} other {Move # messages}}", { count });
}

function describe(error: Error): string {
  const refused = refusedBy(error);
  if (refused) return i18n.t("{count, plural, one {# message cannot be moved, so none was.} other {# messages cannot be moved, so none was.}}", { count: refused.ids.size }) + ` ${refused.text}`;
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
      {channels.get(value)?.is_subscribed ? null : <p class="hint">{i18n.t("You are not subscribed to this channel: what is moved there leaves your conversations.")}</p>}
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
