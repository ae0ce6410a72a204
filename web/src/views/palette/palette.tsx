import { useEffect, useMemo, useState } from "preact/hooks";
import { state, topics } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR, foldText } from "../../model/counts";
import { directNarrow, topicNarrow } from "../../model/narrow";
import { topicKey } from "../../model/state";
import { addressOf, channelAddress, go } from "../../router";
import { Combobox } from "../../ui/combobox";
import { Dialog, openDialog } from "../../ui/dialog";
import { ChannelIcon, Icon } from "../../ui/icons";
import { watchedVersion } from "../../ui/watch";
import { topicName } from "../left/channel-item";

interface Destination {
  key: string;
  name: string;
  detail: string;
  href: string;
  icon: preact.ComponentChild;
}

const MOST = 12;

/** Channels of which topics are asked for at once: others, when their names are typed. */
const MAX_ASKED = 10;

/** Ask for the topics of the subscribed channels that a text fits, the active ones first. */
function askForTopics(text: string): void {
  const wanted = foldText(text.trim());
  const fitting = [...state().channels.values()].filter((each) => each.is_subscribed && !each.is_archived && foldText(each.name).includes(wanted));
  fitting.sort((one, other) => Number(other.is_recently_active) - Number(one.is_recently_active));
  for (const each of fitting.slice(0, MAX_ASKED)) topics.of(each.stream_id);
}

/** Return the names of a channel's topics that are known: those that were fetched, and those of unread messages. */
function topicsOf(channelId: number): string[] {
  const fetched = topics.known(channelId)?.map(({ name }) => name);
  return fetched ?? [...(state().unread.topics.get(channelId)?.values() ?? [])].map(({ topic }) => topic);
}

function destinations(): Destination[] {
  const { channels, users, userId } = state();
  const places: Destination[] = (
    [
      ["inbox", i18n.t("Inbox"), "#inbox"],
      ["history", i18n.t("Recent conversations"), "#recent"],
      ["feed", i18n.t("Combined feed"), "#feed"],
      ["at", i18n.t("Mentions"), "#narrow/is/mentioned"],
      ["star", i18n.t("Starred"), "#narrow/is/starred"],
      ["edit", i18n.t("Drafts"), "#drafts"],
      ["settings", i18n.t("Settings"), "#settings/profile"],
      ["people", i18n.t("Organization"), "#organization"],
      ["hash", i18n.t("Browse channels"), "#channels/available"],
    ] as const
  ).map(([icon, name, href]) => ({ key: href, name, detail: "", href, icon: <Icon name={icon} /> }));
  for (const channel of channels.values()) {
    if (channel.is_archived) continue;
    const { stream_id: id, name } = channel;
    const icon = <ChannelIcon channel={channel} />;
    places.push({ key: `channel ${id}`, name, detail: channel.is_subscribed ? "" : i18n.t("not subscribed"), href: channelAddress(id), icon });
    for (const topic of channel.is_subscribed ? topicsOf(id) : []) {
      places.push({ key: topicKey(id, topic), name: topicName(topic), detail: name, href: addressOf(topicNarrow(id, topic)), icon });
    }
  }
  for (const user of users.values()) {
    if (!user.is_active) continue;
    const detail = user.user_id === userId ? i18n.t("you") : user.is_bot ? i18n.t("bot") : "";
    places.push({ key: `user ${user.user_id}`, name: user.full_name, detail, href: addressOf(directNarrow([user.user_id])), icon: <Icon name="person" /> });
  }
  return places;
}

/** Return the destinations that fit best: names that begin with the text before words that do. */
function found(text: string, all: readonly Destination[]): Destination[] {
  const wanted = foldText(text.trim());
  if (!wanted) return all.slice(0, MOST);
  const scored: { score: number; each: Destination }[] = [];
  for (const each of all) {
    const name = foldText(each.name);
    const score = name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.split(/[\s_/-]+/).some((word) => word.startsWith(wanted)) ? 2 : name.includes(wanted) ? 3 : 4;
    if (score < 4) scored.push({ score, each });
  }
  scored.sort((one, other) => one.score - other.score || COLLATOR.compare(one.each.name, other.each.name));
  return scored.slice(0, MOST).map(({ each }) => each);
}

function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const versions = [...state().channels.keys()].map((id) => watchedVersion(`topics:${id}`));
  const all = useMemo(destinations, [versions.join()]);
  const shown = found(text, all);
  useEffect(() => askForTopics(text), [text]);
  return (
    <Dialog title={i18n.t("Go to")} onClose={onClose}>
      <div class="palette">
        <Combobox
          name="Go to"
          placeholder={i18n.t("A channel, topic, person or view")}
          text={text}
          onText={setText}
          autoFocus
          opensOnFocus
          choosesFirst
          options={shown.map((each) => ({
            key: each.key,
            value: each,
            render: (
              <>
                <span class="option-name">
                  {each.icon} {each.name}
                </span>
                {each.detail ? <span class="option-detail">{each.detail}</span> : null}
              </>
            ),
          }))}
          onChoose={({ href }) => {
            onClose();
            go(href);
          }}
          onEscape={onClose}
        />
        <p class="hint" role="status">
          {shown.length ? null : i18n.t("Nothing found")}
        </p>
      </div>
    </Dialog>
  );
}

/** Ask where to go. */
export function openPalette(): void {
  openDialog((close) => <Palette onClose={close} />);
}
