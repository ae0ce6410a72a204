import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { state, theModel } from "../../app";
import { i18n } from "../../i18n";
import { countOfDirect, countOfTopic, foldText, isTopicMuted } from "../../model/counts";
import { listed, userName } from "../../model/names";
import { directNarrow, topicNarrow } from "../../model/narrow";
import { keepMessage, placeOf } from "../../model/reducers/messages";
import { idsOfKey, type Message, type State, topicKey } from "../../model/state";
import { get } from "../../protocol/client";
import { addressOf, channelAddress } from "../../router";
import { Avatar } from "../../ui/avatar";
import { minute } from "../../ui/clock";
import { UnreadCount } from "../../ui/count";
import { ChannelIcon, Icon } from "../../ui/icons";
import { relativeTime } from "../../ui/times";
import { watch } from "../../ui/watch";
import { topicName } from "../left/channel-item";
import { nameOfDirect } from "../left/conversations";

/** Messages among which conversations are looked for. */
const FETCHED = 1000;
const SHOWN_SENDERS = 4;
const filter = signal("");
/** The state for which messages were fetched: a later one begins without them. */
const fetchedFor = signal<State | undefined>(undefined);

interface Row {
  key: string;
  newest: Message;
  senders: number[];
}

/** Group the messages that are known by conversation, newest first. */
function rows(): Row[] {
  const found = new Map<string, Row>();
  const { messages, userId } = state();
  // Imported messages are older than their ids say.
  const newestFirst = [...messages.values()].sort((one, other) => other.timestamp - one.timestamp || other.id - one.id);
  for (const message of newestFirst) {
    const place = placeOf(message, userId);
    const key = place.kind === "direct" ? `direct ${place.key}` : topicKey(place.channelId, place.topic);
    const row = found.get(key);
    if (!row) found.set(key, { key, newest: message, senders: [message.sender_id] });
    else if (!row.senders.includes(message.sender_id)) row.senders.push(message.sender_id);
  }
  return [...found.values()];
}

/** The conversations that were last written to. */
export default function Recent() {
  watch("feeds", "unread", "channels", "users", "topicPolicies");
  const [problem, setProblem] = useState<string>();
  const current = state();
  const isFetched = fetchedFor.value === current;
  const load = () => {
    setProblem(undefined);
    get<{ messages: Message[] }>("/messages", { anchor: "newest", num_before: FETCHED, num_after: 0, allow_empty_topic_name: true, client_gravatar: false, message_buttons: true })
      .then(({ messages }) => {
        if (state() !== current) return;
        for (const each of messages) keepMessage(current, each);
        fetchedFor.value = current;
        theModel().changes.mark("feeds");
        theModel().changes.flush();
      })
      .catch((error: Error) => setProblem(error.message));
  };
  useEffect(() => {
    if (!isFetched) load();
  }, [current]);
  const now = minute.value;
  const wanted = foldText(filter.value);
  const shown = rows().filter(({ newest }) => {
    if (newest.type === "stream") {
      if (!state().channels.get(newest.stream_id!)?.is_subscribed || isTopicMuted(state(), newest.stream_id!, newest.subject)) return false;
    }
    return !wanted || foldText(nameOf(newest)).includes(wanted);
  });
  return (
    <section class="list-view" aria-label={i18n.t("Recent conversations")} aria-busy={!isFetched}>
      <header class="view-head">
        <h1>{i18n.t("Recent conversations")}</h1>
        <input
          type="search"
          class="filter"
          aria-label={i18n.t("Filter recent conversations")}
          placeholder={i18n.t("Filter")}
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
      </header>
      {problem ? (
        <p role="alert">
          {problem}{" "}
          <button type="button" onClick={load}>
            {i18n.t("Try again")}
          </button>
        </p>
      ) : null}
      {shown.length ? (
        <div role="table" class="links recent" aria-label={i18n.t("Recent conversations")}>
          <div role="row" class="recent-heads">
            <span role="columnheader">{i18n.t("Channel")}</span>
            <span role="columnheader">{i18n.t("Conversation")}</span>
            <span role="columnheader">{i18n.t("People")}</span>
            <span role="columnheader">{i18n.t("Last message")}</span>
          </div>
          {shown.map((row) => (
            <RecentRow key={row.key} row={row} now={now} />
          ))}
        </div>
      ) : null}
      {isFetched && !shown.length ? <p class="empty">{i18n.t("No conversations yet. Write the first message.")}</p> : null}
    </section>
  );
}

function nameOf(message: Message): string {
  if (message.type === "stream") {
    return `${state().channels.get(message.stream_id!)?.name ?? ""} ${topicName(message.subject)}`;
  }
  const place = placeOf(message, state().userId);
  return place.kind === "direct" ? nameOfDirect(idsOfKey(place.key)) : "";
}

function RecentRow({ row: { newest, senders }, now }: { row: Row; now: number }) {
  const place = placeOf(newest, state().userId);
  const channel = place.kind === "topic" ? state().channels.get(place.channelId) : undefined;
  return (
    <div role="row">
      <span role="cell" class="recent-channel">
        {channel ? (
          <a href={channelAddress(channel.stream_id)}>
            <ChannelIcon channel={channel} />
            <span class="name">{channel.name}</span>
          </a>
        ) : (
          <>
            <Icon name="person" />
            <span class="name">{i18n.t("Direct message")}</span>
          </>
        )}
      </span>
      <span role="cell" class="recent-topic">
        <a href={addressOf(place.kind === "topic" ? topicNarrow(place.channelId, place.topic) : directNarrow(idsOfKey(place.key)))}>
          <span class="name">{place.kind === "topic" ? topicName(place.topic) : nameOfDirect(idsOfKey(place.key))}</span>
          <UnreadCount
            of={place.kind === "topic" ? countOfTopic(state(), place.channelId, place.topic) : countOfDirect(state(), place.key)}
          />
        </a>
      </span>
      <span role="cell" class="recent-senders">
        <span class="visually-hidden">{listed(senders.map((id) => userName(state(), id)))}</span>
        {senders.slice(0, SHOWN_SENDERS).map((id) => (
          <Avatar key={id} user={state().users.get(id)} size={22} />
        ))}
        {senders.length > SHOWN_SENDERS ? <span class="faded" aria-hidden="true">+{senders.length - SHOWN_SENDERS}</span> : null}
      </span>
      <span role="cell" class="recent-time faded">
        <time dateTime={new Date(newest.timestamp * 1000).toISOString()}>{relativeTime(newest.timestamp * 1000, now)}</time>
      </span>
    </div>
  );
}
