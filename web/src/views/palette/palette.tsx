import { useState } from "preact/hooks";
import { state, topics } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR, foldText } from "../../model/counts";
import { directNarrow, topicNarrow } from "../../model/narrow";
import { topicKey } from "../../model/state";
import { addressOf, channelAddress, go } from "../../router";
import { Combobox } from "../../ui/combobox";
import { Dialog, openDialog } from "../../ui/dialog";
import { ChannelIcon, Icon } from "../../ui/icons";
import { topicName } from "../left/channel-item";

interface Destination {
  key: string;
  name: string;
  detail: string;
  href: string;
  icon: preact.ComponentChild;
}

const MOST = 12;

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
    for (const topic of (channel.is_subscribed && topics.known(id)) || []) {
      const href = addressOf(topicNarrow(id, topic.name));
      places.push({ key: topicKey(id, topic.name), name: topicName(topic.name), detail: name, href, icon });
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
  const [all] = useState(destinations);
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div class="palette">
        <Combobox
          name="Go to"
          placeholder={i18n.t("A channel, topic, person or view")}
          text={text}
          onText={setText}
          autoFocus
          opensOnFocus
          choosesFirst
          options={found(text, all).map((each) => ({
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
      </div>
    </Dialog>
  );
}

/** Ask where to go. */
export function openPalette(): void {
  openDialog((close) => <Palette onClose={close} />);
}
