import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { state, topics } from "../../app";
import { i18n } from "../../i18n";
import { countOfChannel, countOfTopic, isTopicMuted, policyOf } from "../../model/counts";
import { operandFor, topicNarrow } from "../../model/narrow";
import { type Channel, Policy, topicKey } from "../../model/state";
import { addressOf, channelAddress, ground } from "../../router";
import { nameWithUnread, UnreadCount } from "../../ui/count";
import { ChannelIcon, Icon } from "../../ui/icons";
import { memo } from "../../ui/memo";
import { watch } from "../../ui/watch";
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

/** A channel, and its topics where it is the one that is shown. */
export const ChannelItem = memo(({ channel }: { channel: Channel }) => {
  watch("unread", "topicPolicies", "channels");
  const id = channel.stream_id;
  const here = ground.value;
  const isHere = here.kind === "narrow" && operandFor(here.narrow, "channel") === id;
  const isChannelItself = isHere && here.narrow.terms.length === 1;
  const isExpanded = isHere || expanded.value.has(id);
  const swatch = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    swatch.current?.style.setProperty("--channel-color", channel.color ?? "");
  }, [channel.color]);
  const name = channel.name;
  return (
    <li>
      <div class="channel-row" onContextMenu={onRowMenu({ kind: "channel", id }, name)}>
        <a
          href={channelAddress(id)}
          aria-label={nameWithUnread(name, countOfChannel(state(), id))}
          class={channel.is_muted ? "muted" : undefined}
          aria-current={isChannelItself ? "page" : undefined}
        >
          <span class="swatch" ref={swatch}>
            <ChannelIcon channel={channel} />
          </span>
          <span class="name">{name}</span>
          <UnreadCount of={countOfChannel(state(), id)} isFaded={channel.is_muted ?? false} />
        </a>
        <span class="row-buttons">
          <RowMenuButton row={{ kind: "channel", id }} name={name} />
          <button
            type="button"
            class="quiet icon-button expander"
            aria-expanded={isExpanded}
            aria-label={i18n.t("Topics of {name}", { name })}
            disabled={isHere}
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
  return name || String(state().fields.realm_empty_topic_display_name || "general chat");
}

function TopicList({ channel }: { channel: Channel }) {
  const id = channel.stream_id;
  watch(`topics:${id}`, "unread", "topicPolicies");
  const here = ground.value;
  const current = here.kind === "narrow" ? operandFor(here.narrow, "topic") : undefined;
  const currentKey = typeof current === "string" ? topicKey(id, current) : undefined;
  const known = topics.of(id);
  const listed = known ?? [...(state().unread.topics.get(id)?.values() ?? [])].map(({ topic }) => ({ name: topic, max_id: 0 }));
  const isCurrent = (name: string) => topicKey(id, name) === currentKey;
  const all = showsAll.value.has(id)
    ? listed
    : listed.filter(
        ({ name }, index) =>
          isCurrent(name) ||
          (countOfTopic(state(), id, name).unread > 0 && !isTopicMuted(state(), id, name)) ||
          (index < RECENT_TOPICS && policyOf(state(), id, name) !== Policy.MUTED),
      );
  return (
    <ul class="topics" aria-label={i18n.t("Topics of {name}", { name: channel.name })} aria-busy={!known}>
      {all.map(({ name }) => {
        const isMuted = isTopicMuted(state(), id, name);
        const isFollowed = policyOf(state(), id, name) === Policy.FOLLOWED;
        return (
          <li key={topicKey(id, name)} class="menu-row" onContextMenu={onRowMenu({ kind: "topic", id, topic: name }, topicName(name))}>
            <a
              href={addressOf(topicNarrow(id, name))}
              aria-label={nameWithUnread(topicName(name), countOfTopic(state(), id, name))}
              class={isMuted ? "muted" : undefined}
              aria-current={isCurrent(name) ? "page" : undefined}
            >
              <span class={`name${name ? "" : " empty-topic"}`}>{topicName(name)}</span>
              {isFollowed ? (
                <span class="followed" title={i18n.t("Followed")}>
                  <Icon name="bell" />
                </span>
              ) : null}
              <UnreadCount of={countOfTopic(state(), id, name)} isFaded={isMuted} />
            </a>
            <span class="row-buttons">
              <RowMenuButton row={{ kind: "topic", id, topic: name }} name={topicName(name)} />
            </span>
          </li>
        );
      })}
      {all.length < listed.length || showsAll.value.has(id) ? (
        <li>
          <button type="button" class="quiet small" onClick={() => (showsAll.value = withToggled(showsAll.value, id))}>
            {showsAll.value.has(id) ? i18n.t("Show fewer topics") : i18n.t("Show all topics")}
          </button>
        </li>
      ) : null}
    </ul>
  );
}
