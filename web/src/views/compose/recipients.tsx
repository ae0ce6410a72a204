/** Where the message goes: channel and topic, or people. */

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { emptyTopicName, topicName } from "../../model/names";
import type { Channel, User } from "../../model/state";

import type { Completion } from "../../ui/completions";
import { ChannelIcon, Icon } from "../../ui/icons";
import { watch } from "../../ui/watch";
import { channelNamed, findChannels, findPeople, peopleIndex, relevance, userNamed } from "./directory";
import { fields } from "./fields";
import { RecipientField } from "./recipient-field";
import { allowsEmptyTopic, allowsNamedTopics, cleanTopic, lengthOfTopic } from "./rules";
import { retarget, type Target } from "./target";
import { findTopics, topicsOf, topicsVersion } from "./topics";

const LIMIT = 8;
const REASON_ID = "compose-reason";

export function Recipients({ to, invalid }: { to: Target; invalid: string | undefined }) {
  return to.kind === "topic" ? <ToTopic to={to} invalid={invalid} /> : <ToPeople to={to} invalid={invalid} />;
}

type ChannelItem = Completion & { channel: Channel };

function channelItem(channel: Channel): ChannelItem {
  return {
    key: String(channel.stream_id),
    label: channel.name,
    detail: channel.is_archived ? i18n.t("archived") : channel.description,
    picture: <ChannelMark channel={channel} />,
    channel,
  };
}

/** The sign of a channel in its colour. */
export function ChannelMark({ channel }: { channel: Channel | undefined }) {
  const mark = useRef<HTMLSpanElement>(null);
  const color = channel?.color;
  useEffect(() => {
    mark.current?.style.setProperty("--channel", color ?? "");
  }, [color]);
  return (
    <span class="channel-mark" ref={mark}>
      <ChannelIcon channel={channel} />
    </span>
  );
}

function ToTopic({ to, invalid }: { to: Target & { kind: "topic" }; invalid: string | undefined }) {
  watch("channels", "realm", "groups");
  const channel = to.channelId === undefined ? undefined : state().channels.get(to.channelId);
  const [typed, setTyped] = useState<string | undefined>(undefined);
  useEffect(() => setTyped(undefined), [to.channelId]);
  const suggest = useCallback((text: string) => {
    const isChosen = channel !== undefined && text === channel.name;
    return findChannels(isChosen ? "" : text, LIMIT, true).map(channelItem);
  }, [channel]);
  const choose = (chosen: Channel | undefined) => retarget({ ...to, channelId: chosen?.stream_id });
  return (
    <div class="compose-to">
      <RecipientField
        label="Channel"
        field={fields.Channel}
        placeholder={i18n.t("Channel")}
        before={<ChannelMark channel={channel} />}
        value={typed ?? channel?.name ?? ""}
        isInvalid={invalid === "Channel"}
        describedBy={invalid === "Channel" ? REASON_ID : undefined}
        suggest={suggest}
        onInput={(text) => {
          setTyped(text);
          const named = channelNamed(text);
          if (named?.stream_id !== to.channelId) choose(named);
        }}
        onPick={(item) => {
          setTyped(undefined);
          choose(item.channel);
          requestAnimationFrame(() => (allowsNamedTopics(state(), item.channel) ? fields.Topic : fields.Message).current?.focus());
        }}
        onCommit={(text) => {
          const named = channelNamed(text);
          if (named) setTyped(undefined);
        }}
      />
      <span class="compose-to-arrow" aria-hidden="true"><Icon name="chevron" /></span>
      <TopicField to={to} channel={channel} invalid={invalid} />
    </div>
  );
}

function TopicField({ to, channel, invalid }: { to: Target & { kind: "topic" }; channel: Channel | undefined; invalid: string | undefined }) {
  const version = topicsVersion.value;
  const suggest = useCallback(
    (text: string): Completion[] => {
      if (!channel) return [];
      return findTopics(channel.stream_id, text, LIMIT)
        .filter((name) => name !== "" || allowsEmptyTopic(state(), channel))
        .map((name) => ({ key: `topic ${name}`, label: topicName(state(), name) }));
    },
    [channel, version],
  );
  const hasNames = !channel || allowsNamedTopics(state(), channel);
  const mayBeEmpty = !channel || allowsEmptyTopic(state(), channel);
  const placeholder = mayBeEmpty ? emptyTopicName(state()) : i18n.t("Topic (required)");
  return (
    <RecipientField
      label="Topic"
      max={Number(state().fields.max_topic_length ?? 60)}
      lengthOf={lengthOfTopic}
      field={fields.Topic}
      placeholder={placeholder}
      value={hasNames ? to.topic : ""}
      readOnly={!hasNames}
      isInvalid={invalid === "Topic"}
      describedBy={invalid === "Topic" ? REASON_ID : undefined}
      suggest={suggest}
      onFocus={() => channel && topicsOf(channel.stream_id)}
      onInput={(topic) => retarget({ ...to, topic })}
      onPick={(item) => {
        retarget({ ...to, topic: item.key.slice("topic ".length) });
        fields.Message.current?.focus();
      }}
      onCommit={(topic) => {
        const clean = cleanTopic(state(), topic);
        if (clean !== to.topic) retarget({ ...to, topic: clean });
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        fields.Message.current?.focus();
      }}
    />
  );
}

type PersonItem = Completion & { user: User };

export function personItem(user: User): PersonItem {
  const isAlone = peopleIndex().counts.get(user.full_name.toLowerCase()) === 1;
  return {
    key: String(user.user_id),
    label: user.full_name,
    detail: user.user_id === state().userId ? i18n.t("you") : user.delivery_email && !isAlone ? user.delivery_email : (user.delivery_email ?? ""),
    picture: <Face user={user} />,
    user,
  };
}

/** A person's picture, beside their name; their first letter where there is none. */
export function Face({ user }: { user: User }) {
  const [isMissing, setMissing] = useState(false);
  if (isMissing || !user.avatar_url) {
    return (
      <span class="face" aria-hidden="true">
        {[...user.full_name][0]?.toUpperCase()}
      </span>
    );
  }
  return <img class="face" src={user.avatar_url} alt="" loading="lazy" width={20} height={20} onError={() => setMissing(true)} />;
}

function ToPeople({ to, invalid }: { to: Target & { kind: "direct" }; invalid: string | undefined }) {
  watch("users");
  const [typed, setTyped] = useState("");
  const score = useMemo(() => relevance(undefined), [to]);
  const without = useMemo(() => new Set(to.userIds), [to]);
  const suggest = useCallback((text: string) => findPeople(text.trim(), LIMIT, score, without).map(personItem), [score, without]);
  const add = (user: User) => {
    setTyped("");
    if (!without.has(user.user_id)) retarget({ kind: "direct", userIds: [...to.userIds, user.user_id] });
  };
  const remove = (id: number) => {
    retarget({ kind: "direct", userIds: to.userIds.filter((each) => each !== id) });
    fields.People.current?.focus();
  };
  const commit = (text: string): boolean => {
    const names = text.split(",").map((each) => each.trim()).filter(Boolean);
    const found = names.map(userNamed);
    if (!names.length || found.includes(undefined)) return false;
    setTyped("");
    const ids = [...new Set([...to.userIds, ...found.map((each) => each!.user_id)])];
    retarget({ kind: "direct", userIds: ids });
    return true;
  };
  return (
    <div class="compose-to compose-to-people">
      <span class="compose-to-arrow" aria-hidden="true"><Icon name="people" /></span>
      <ul class="recipients" aria-label={i18n.t("Recipients")}>
        {to.userIds.map((id) => (
          <Recipient key={id} user={state().users.get(id)} onRemove={() => remove(id)} />
        ))}
      </ul>
      <RecipientField
        label="People"
        field={fields.People}
        placeholder={to.userIds.length ? i18n.t("Add people") : i18n.t("Names or email addresses")}
        value={typed}
        isInvalid={invalid === "People"}
        describedBy={invalid === "People" ? REASON_ID : undefined}
        suggest={suggest}
        onInput={(text) => {
          setTyped(text);
          if (text.endsWith(",")) commit(text);
        }}
        onPick={(item) => {
          add(item.user);
          fields.People.current?.focus();
        }}
        onCommit={(text) => {
          if (!text.trim() && document.activeElement === fields.People.current) fields.Message.current?.focus();
          else commit(text);
        }}
        onErase={() => to.userIds.length && remove(to.userIds.at(-1)!)}
      />
    </div>
  );
}

function Recipient({ user, onRemove }: { user: User | undefined; onRemove: () => void }) {
  const name = user?.full_name ?? i18n.t("Unknown user");
  return (
    <li class={user?.is_active ? "recipient" : "recipient gone"}>
      {user ? <Face user={user} /> : null}
      <span>{name}</span>
      <button type="button" class="bare" aria-label={i18n.t("Remove {name}", { name })} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </li>
  );
}
