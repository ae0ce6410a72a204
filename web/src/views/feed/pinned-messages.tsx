import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { narrowOfMessage } from "../../model/message-narrow";
import { canPin } from "../../model/message-permissions";
import { senderName, topicName } from "../../model/names";
import { type Channel, type Message, topicKey } from "../../model/state";
import { get } from "../../protocol/client";
import { addressOf } from "../../router";
import { Icon } from "../../ui/icons";
import { timeOfDay } from "../../ui/time";
import { parseHtml } from "../../ui/trusted";
import { watch } from "../../ui/watch";
import { togglePin } from "./message-menu";

const MAX_EXCERPT = 300;
const NONE: readonly number[] = [];
/** Channels and topics of which the pinned messages are listed, and not only counted. */
const opened = signal<ReadonlySet<string>>(new Set());

interface PinnedMessagesProps {
  channel: Channel;
  /** The topic that is shown; undefined if it is the channel. */
  topic: string | undefined;
  /** All pinned messages of the channel. */
  ids: readonly number[];
}

/** A button that says how many messages are pinned in a channel or a topic, and the list that it opens. */
export function PinnedMessages({ channel, topic, ids }: PinnedMessagesProps) {
  watch(...ids.map((id) => `message:${id}` as const));
  const key = topic === undefined ? String(channel.stream_id) : topicKey(channel.stream_id, topic);
  const isOpen = opened.value.has(key);
  const toggle = () => {
    const changed = new Set(opened.value);
    if (!changed.delete(key)) changed.add(key);
    opened.value = changed;
  };
  // In which topic a message is, is known of the message only.
  const { found, error } = useFetched(isOpen || topic !== undefined ? ids : NONE);
  const messageOf = (id: number) => state().messages.get(id) ?? found?.get(id);
  const isHere = (message: Message | undefined) => message !== undefined && topicKey(channel.stream_id, message.subject) === key;
  const shown = topic === undefined ? ids : ids.filter((id) => isHere(messageOf(id)));
  if (!shown.length) return null;
  return (
    <section class="pinned-bar" aria-label={i18n.t("Pinned messages")}>
      <button type="button" class="quiet pinned-toggle" aria-expanded={isOpen} onClick={toggle}>
        <Icon name="pin" />
        <span>{i18n.t("{count, plural, one {# pinned message} other {# pinned messages}}", { count: shown.length })}</span>
        <Icon name="chevron" />
      </button>
      {isOpen ? <PinnedList channel={channel} messages={shown.map(messageOf).filter((each) => each !== undefined)} error={error} /> : null}
    </section>
  );
}

/** The pinned messages, the newest first: links to them, with the beginning of each. */
function PinnedList({ channel, messages, error }: { channel: Channel; messages: Message[]; error: string | undefined }) {
  watch("users", "groups", "realm", "channels", ...messages.map(({ id }) => `message:${id}` as const));
  if (error) return <p class="pinned-note" role="alert">{error}</p>;
  if (!messages.length) return <p class="pinned-note" role="status">{i18n.t("Loading messages")}</p>;
  const mayUnpin = canPin(state(), channel);
  return (
    <ul class="pinned-list">
      {messages.reverse().map((message) => (
        <li key={message.id}>
          <a href={addressOf(narrowOfMessage(state(), message, message.id))}>
            <span class="pinned-head">
              <bdi>{senderName(state(), message)}</bdi> · <bdi>{topicName(state(), message.subject)}</bdi> · <DayAndTime timestamp={message.timestamp} />
            </span>
            <span class="pinned-text" dir="auto">{excerptOf(message)}</span>
          </a>
          {mayUnpin ? (
            <button type="button" class="icon-button" data-icon="close" aria-label={i18n.t("Unpin message")} title={i18n.t("Unpin message")} onClick={() => void togglePin(message)} />
          ) : null}
        </li>
      ))}
    </ul>
  );
}

function DayAndTime({ timestamp }: { timestamp: number }) {
  const date = new Date(timestamp * 1000);
  return <time dateTime={date.toISOString()}>{new Intl.DateTimeFormat(i18n.locale, { dateStyle: "medium" }).format(date)}, {timeOfDay(timestamp)}</time>;
}

/** Return the beginning of a message as text. */
function excerptOf(message: Message): string {
  const text = parseHtml(message.content).body.textContent.replace(/\s+/gu, " ").trim();
  return text.slice(0, MAX_EXCERPT) || i18n.t("A message without text");
}

/** Fetch those of the messages that the page does not hold. */
function useFetched(ids: readonly number[]): { found?: Map<number, Message>; error?: string } {
  const [answer, setAnswer] = useState<{ found?: Map<number, Message>; error?: string }>({});
  const missing = ids.filter((id) => !state().messages.has(id) && !answer.found?.has(id));
  useEffect(() => {
    if (!missing.length) return;
    let isCurrent = true;
    get<{ messages: Message[] }>("/messages", { message_ids: missing, allow_empty_topic_name: true, client_gravatar: false }).then(
      ({ messages }) => isCurrent && setAnswer(({ found }) => ({ found: new Map([...(found ?? []), ...messages.map((each) => [each.id, each] as const)]) })),
      (error: unknown) => isCurrent && setAnswer(({ found }) => ({ ...(found ? { found } : {}), error: (error as Error).message })),
    );
    return () => {
      isCurrent = false;
    };
  }, [missing.join()]);
  return answer;
}
