import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { state, topics } from "../../app";
import { i18n } from "../../i18n";
import { countOfChannel, countOfTopic, isTopicMuted, policyOf } from "../../model/counts";
import { topicName as nameOfTopic } from "../../model/names";
import { operandFor, topicNarrow } from "../../model/narrow";
import { isTopicPinned, withPinnedFirst } from "../../model/pins";
import { type Channel, Policy, topicKey } from "../../model/state";
import { addressOf, channelAddress, ground } from "../../router";
import { nameWithUnread, UnreadCount } from "../../ui/count";
import { ChannelIcon, Icon } from "../../ui/icons";
import { memo } from "../../ui/memo";
import { useDerived, watch } from "../../ui/watch";
import { onRowMenu, RowMenuButton } from "./row-menu";

const RECENT_TOPICS = 6;
/** Channels that show their topics beside the open conversation. */
const expanded = signal<ReadonlySet<number>>(new Set());
/** Channels of which all topics are shown. */
const showsAll = signal<ReadonlySet<number>>(new Set());

function withToggled(set: ReadonlySet<number>, id: number): Set<number> {
  const changed = new Set(set);
  if (!changed.delete(id)) changed.add(id);
  return changed;
}

/** Return whether the place that is shown is a channel, or lies within it. */
function placeIn(channelId: number): "channel" | "within" | undefined {
  const here = ground.value;
  if (here.kind !== "narrow" || operandFor(here.narrow, "channel") !== channelId) return undefined;
  return here.narrow.terms.length === 1 ? "channel" : "within";
}

/** A channel, and its topics where it is the one that is shown. */
export const ChannelItem = memo(({ channel }: { channel: Channel }) => {
  watch("channels");
  const id = channel.stream_id;
  const count = useDerived(() => {
    watch("unread", "topicPolicies", "channels");
    return countOfChannel(state(), id);
  }, [id]);
  const here = useDerived(() => placeIn(id), [id]);
  const isExpanded = useDerived(() => expanded.value.has(id), [id]) || here !== undefined;
  const swatch = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    swatch.current?.style.setProperty("--channel", channel.color ?? "");
  }, [channel.color]);
  const name = channel.name;
  return (
    <li>
      <div class="channel-row" onContextMenu={onRowMenu({ kind: "channel", id }, name)}>
        <a
          href={channelAddress(id)}
          aria-label={nameWithUnread(name, count)}
          class={channel.is_muted ? "muted" : undefined}
          aria-current={here === "channel" ? "page" : undefined}
        >
          <span class="swatch" ref={swatch}>
            <ChannelIcon channel={channel} />
          </span>
          <span class="name">{name}</span>
          <UnreadCount of={count} isFaded={channel.is_muted ?? false} />
        </a>
        <span class="row-buttons">
          <RowMenuButton row={{ kind: "channel", id }} name={name} />
          <button
            type="button"
            class="quiet icon-button expander"
            aria-expanded={isExpanded}
            aria-label={i18n.t("Topics of {name}", { name })}
            disabled={here !== undefined}
            onClick={() => (expanded.value = withToggled(expanded.value, id))}
          >
            <Icon name="chevron" />
          </button>
        </span>
      </div>
      {isExpanded ? <TopicList channel={channel} /> : null}
    </li>
  );
});

export function topicName(name: string): string {
  return nameOfTopic(state(), name);
}

/** Return the topics that are listed below a channel, and whether there are more. */
function topicsShown(channelId: number): { names: string[]; hasMore: boolean; isKnown: boolean } {
  watch(`topics:${channelId}`, "unread", "topicPolicies", "channels", "pins");
  const known = topics.of(channelId);
  const all = known?.map(({ name }) => name) ?? [...(state().unread.topics.get(channelId)?.values() ?? [])].map(({ topic }) => topic);
  const isWanted = (name: string, index: number) =>
    isCurrent(channelId, name) ||
    (countOfTopic(state(), channelId, name).unread > 0 && !isTopicMuted(state(), channelId, name)) ||
    (index < RECENT_TOPICS && policyOf(state(), channelId, name) !== Policy.MUTED);
  const names = showsAll.value.has(channelId) ? all : all.filter(isWanted);
  return { names: withPinnedFirst(state(), channelId, names), hasMore: names.length < all.length, isKnown: known !== undefined };
}

/** Return whether a topic is the place that is shown. */
function isCurrent(channelId: number, name: string): boolean {
  const here = ground.value;
  const current = placeIn(channelId) && here.kind === "narrow" ? operandFor(here.narrow, "topic") : undefined;
  return typeof current === "string" && topicKey(channelId, current) === topicKey(channelId, name);
}

function TopicList({ channel }: { channel: Channel }) {
  const id = channel.stream_id;
  const { names, hasMore, isKnown } = useDerived(() => topicsShown(id), [id]);
  const isWhole = useDerived(() => showsAll.value.has(id), [id]);
  return (
    <ul class="topics" aria-label={i18n.t("Topics of {name}", { name: channel.name })} aria-busy={!isKnown}>
      {names.map((name) => (
        <TopicItem key={topicKey(id, name)} channelId={id} name={name} />
      ))}
      {hasMore || isWhole ? (
        <li>
          <button type="button" class="quiet small" onClick={() => (showsAll.value = withToggled(showsAll.value, id))}>
            {isWhole ? i18n.t("Show fewer topics") : i18n.t("Show all topics")}
          </button>
        </li>
      ) : null}
    </ul>
  );
}

const TopicItem = memo(({ channelId, name }: { channelId: number; name: string }) => {
  const { count, isHere, isMuted, isFollowed, isPinned } = useDerived(() => {
    watch("unread", "topicPolicies", "channels", "pins");
    return {
      count: countOfTopic(state(), channelId, name),
      isHere: isCurrent(channelId, name),
      isMuted: isTopicMuted(state(), channelId, name),
      isFollowed: policyOf(state(), channelId, name) === Policy.FOLLOWED,
      isPinned: isTopicPinned(state(), channelId, name),
    };
  }, [channelId, name]);
  const row = { kind: "topic", id: channelId, topic: name } as const;
  return (
    <li class="menu-row" onContextMenu={onRowMenu(row, topicName(name))}>
      <a
        href={addressOf(topicNarrow(channelId, name))}
        aria-label={nameWithUnread(topicName(name), count)}
        class={isMuted ? "muted" : undefined}
        aria-current={isHere ? "page" : undefined}
      >
        <span class={`name${name ? "" : " empty-topic"}`}>{topicName(name)}</span>
        {isPinned ? (
          <span class="followed" title={i18n.t("Pinned")}>
            <Icon name="pin" />
          </span>
        ) : null}
        {isFollowed ? (
          <span class="followed" title={i18n.t("Followed")}>
            <Icon name="bell" />
          </span>
        ) : null}
        <UnreadCount of={count} isFaded={isMuted} />
      </a>
      <span class="row-buttons">
        <RowMenuButton row={row} name={topicName(name)} />
      </span>
    </li>
  );
});
