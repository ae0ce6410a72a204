import { state } from "../../app";
import { i18n } from "../../i18n";
import { directNarrow } from "../../model/narrow";
import { idsOfKey } from "../../model/state";
import { addressOf, channelAddress, ground } from "../../router";
import { watch } from "../../ui/watch";

/** Views, direct messages and channels, with what is unread. */
export function Conversations() {
  return (
    <nav class="left" aria-label="Conversations">
      <Views />
      <DirectMessages />
      <Channels />
    </nav>
  );
}

function Views() {
  watch("unread");
  return (
    <ul aria-label="Views">
      <li><a href="#inbox">{i18n.t("Inbox")}</a></li>
      <li><a href="#recent">{i18n.t("Recent conversations")}</a></li>
      <li><a href="#feed">{i18n.t("Combined feed")}<Count of={state().unread.total} /></a></li>
      <li><a href="#narrow/is/mentioned">{i18n.t("Mentions")}<Count of={state().unread.mentions.size} /></a></li>
      <li><a href="#narrow/is/starred">{i18n.t("Starred")}</a></li>
    </ul>
  );
}

/** The number of unread messages: in words for those who listen. */
function Count({ of }: { of: number }) {
  if (!of) return null;
  return (
    <>
      <span class="visually-hidden">{i18n.t(", {of} unread", { of })}</span>
      <span class="count" aria-hidden="true">{of}</span>
    </>
  );
}

function DirectMessages() {
  watch("conversations", "unread", "users");
  const { conversations, unread, users } = state();
  const newest = [...conversations].sort((one, other) => other[1] - one[1]).slice(0, 8);
  return (
    <ul aria-label="Direct messages">
      {newest.map(([key]) => {
        const ids = idsOfKey(key);
        return (
          <li key={key}>
            <a href={addressOf(directNarrow(ids))}>
              {ids.map((id) => users.get(id)?.full_name ?? i18n.t("Unknown user")).join(", ")}
              <Count of={unread.inDirect(key).size} />
            </a>
          </li>
        );
      })}
    </ul>
  );
}

function Channels() {
  watch("channels", "unread");
  const { channels, unread } = state();
  const here = ground.value;
  const current = here.kind === "narrow" ? here.narrow.terms.find((term) => term.operator === "channel")?.operand : undefined;
  const subscribed = [...channels.values()]
    .filter((each) => each.is_subscribed && !each.is_archived)
    .sort((one, other) => one.name.localeCompare(other.name));
  return (
    <ul aria-label="Channels">
      {subscribed.map((channel) => {
        const topics = unread.topics.get(channel.stream_id);
        const count = [...(topics?.values() ?? [])].reduce((sum, topic) => sum + topic.ids.size, 0);
        return (
          <li key={channel.stream_id}>
            <a href={channelAddress(channel.stream_id)} aria-current={current === channel.stream_id ? "page" : undefined}>
              {channel.name}
              <Count of={count} />
            </a>
          </li>
        );
      })}
    </ul>
  );
}
