import { signal } from "@preact/signals";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { countOfChannel, countOfDirect, countOfTopic, foldText, isDirectMuted, isTopicMuted, subscribedChannels } from "../../model/counts";
import { directNarrow, topicNarrow } from "../../model/narrow";
import { idsOfKey, topicKey } from "../../model/state";
import { addressOf, channelAddress } from "../../router";
import { nameWithUnread, UnreadCount } from "../../ui/count";
import { ChannelIcon, Icon } from "../../ui/icons";
import { lazy } from "../../ui/lazy";
import { watch } from "../../ui/watch";
import { topicName } from "../left/channel-item";
import { nameOfDirect, sectionsOf } from "../left/conversations";

const filter = signal("");
const FirstSteps = lazy(() => import("../organization/first-steps"));
const Tour = lazy(() => import("./tour"));

/** Return whether the user is the only person in the organization. */
function isAlone(): boolean {
  let people = 0;
  for (const user of state().users.values()) {
    if (user.is_active && !user.is_bot) people += 1;
    if (people > 1) return false;
  }
  return people === 1;
}

/** All conversations with something unread. */
export function Inbox() {
  watch("unread", "channels", "folders", "settings", "users", "topicPolicies", "mutedUsers");
  const { unread, settings, folders } = state();
  const wanted = foldText(filter.value);
  const fits = (...names: string[]) => !wanted || names.some((name) => foldText(name).includes(wanted));
  const newest = (ids: Iterable<number>) => Math.max(...ids);
  const directs = [...unread.directs]
    .map(([key, ids]) => ({ key, people: idsOfKey(key), newest: newest(ids) }))
    .filter(({ people }) => !isDirectMuted(state(), people) && fits(nameOfDirect(people)))
    .sort((one, other) => other.newest - one.newest);
  const topicsOf = new Map(
    subscribedChannels(state()).map((channel) => [
      channel.stream_id,
      [...(unread.topics.get(channel.stream_id)?.values() ?? [])]
        .filter(({ topic }) => !isTopicMuted(state(), channel.stream_id, topic) && fits(channel.name, topicName(topic)))
        .sort((one, other) => newest(other.ids) - newest(one.ids)),
    ]),
  );
  const channels = subscribedChannels(state()).filter((channel) => topicsOf.get(channel.stream_id)!.length);
  const isByFolder = settings.web_inbox_show_channel_folders !== false && channels.some((each) => each.folder_id !== null && folders.has(each.folder_id));
  const sections = isByFolder ? sectionsOf(channels, true) : [{ key: "all", name: undefined, channels }];
  const isEmpty = !directs.length && !channels.length;
  return (
    <section class="list-view" aria-label={i18n.t("Inbox")}>
      <header class="view-head">
        <h1>{i18n.t("Inbox")}</h1>
        <input
          type="search"
          class="filter"
          aria-label={i18n.t("Filter the inbox")}
          placeholder={i18n.t("Filter")}
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
      </header>
      {state().fields.onboarding_steps?.length ? <Tour /> : null}
      {isAlone() ? <FirstSteps /> : null}
      {isEmpty ? (
        <div class="empty">
          <h2>{filter.value ? i18n.t("Nothing fits the filter") : i18n.t("All read")}</h2>
          <p>
            {filter.value ? null : (
              <>
                {i18n.t("There is nothing unread.")} <a href="#recent">{i18n.t("Recent conversations")}</a> ·{" "}
                <a href="#feed">{i18n.t("Combined feed")}</a>
              </>
            )}
          </p>
        </div>
      ) : null}
      {directs.length ? (
        <section>
          <h2>{i18n.t("Direct messages")}</h2>
          <ul class="links rows">
            {directs.map(({ key, people }) => (
              <li key={key}>
                <a href={addressOf(directNarrow(people))} aria-label={nameWithUnread(nameOfDirect(people), countOfDirect(state(), key))}>
                  <Icon name={people.length > 1 ? "people" : "person"} />
                  <span class="name">{nameOfDirect(people)}</span>
                  <UnreadCount of={countOfDirect(state(), key)} />
                </a>
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      {sections.flatMap(({ key, name, channels: inSection }) => [
        name ? <h2 key={key} class="section-name">{name}</h2> : null,
        ...inSection.map((channel) => (
          <section key={channel.stream_id}>
            <h2>
              <a href={channelAddress(channel.stream_id)} aria-label={nameWithUnread(channel.name, countOfChannel(state(), channel.stream_id))}>
                <ChannelIcon channel={channel} /> {channel.name}
                <UnreadCount of={countOfChannel(state(), channel.stream_id)} isFaded />
              </a>
            </h2>
            <ul class="links rows">
              {topicsOf.get(channel.stream_id)!.map(({ topic }) => (
                <li key={topicKey(channel.stream_id, topic)}>
                  <a
                    href={addressOf(topicNarrow(channel.stream_id, topic))}
                    aria-label={nameWithUnread(topicName(topic), countOfTopic(state(), channel.stream_id, topic))}
                  >
                    <span class={`name${topic ? "" : " empty-topic"}`}>{topicName(topic)}</span>
                    <UnreadCount of={countOfTopic(state(), channel.stream_id, topic)} />
                  </a>
                </li>
              ))}
            </ul>
          </section>
        )),
      ])}
    </section>
  );
}
