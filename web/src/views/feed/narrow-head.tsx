import { useMemo } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { canResolve } from "../../model/message-permissions";
import { isResolved, listed, topicName, userName } from "../../model/names";
import { conversationOf, type Narrow, operandFor } from "../../model/narrow";
import { type Channel, directKey, Policy, topicKey } from "../../model/state";
import { channelAddress } from "../../router";
import { confirm } from "../../ui/dialog";
import { ChannelIcon } from "../../ui/icons";
import { openMenu } from "../../ui/menu";
import { attempt } from "../../ui/toast";
import { parseHtml } from "../../ui/trusted";
import { showUserCard } from "../../ui/user-card";
import { watch } from "../../ui/watch";
import { markAllRead } from "./reading";
import { titleOf } from "./titles";
import { policyItems, toggleResolved } from "./topic-actions";

/** The name of what is shown, and the actions on it as a whole. */
export function NarrowHead({ narrow }: { narrow: Narrow }) {
  return (
    <header class="narrow-head">
      <Title narrow={narrow} />
      <MarkAllRead narrow={narrow} />
    </header>
  );
}

function Title({ narrow }: { narrow: Narrow }) {
  watch("channels");
  const channelId = operandFor(narrow, "channel");
  const channel = typeof channelId === "number" ? state().channels.get(channelId) : undefined;
  if (channel) return <ChannelTitle channel={channel} topic={conversationOf(narrow)?.kind === "topic" ? String(operandFor(narrow, "topic")) : undefined} />;
  const people = operandFor(narrow, "dm");
  if (Array.isArray(people)) return <PeopleTitle userIds={people} />;
  const { icon, text } = titleOf(narrow);
  return <h1 class="narrow-title" data-icon={icon}>{text}</h1>;
}

function ChannelTitle({ channel, topic }: { channel: Channel; topic: string | undefined }) {
  watch("channels");
  const { stream_id: id, subscriber_count: count } = channel;
  return (
    <div class="narrow-title-row" ref={(row) => row?.style.setProperty("--channel", channel.color ?? "var(--muted)")}>
      <h1 class="narrow-title">
        <a href={channelAddress(id)} class="narrow-channel"><ChannelIcon channel={channel} /><bdi>{channel.name}</bdi></a>
        {topic === undefined ? null : (
          <>
            <span class="narrow-separator" aria-hidden="true"> › </span>
            <bdi class={isResolved(topic) ? "is-resolved" : ""}>{topicName(state(), topic)}</bdi>
          </>
        )}
      </h1>
      {topic === undefined ? (
        <ChannelDescription channel={channel} />
      ) : state().userId ? (
        <TopicButtons channel={channel} topic={topic} />
      ) : null}
      {state().userId ? <a class="narrow-count" data-icon="people" href={`#channels/${id}/subscribers`} aria-label={i18n.t("{count, plural, one {# subscriber} other {# subscribers}}", { count })} title={i18n.t("Subscribers")}>
        {count}
      </a> : null}
    </div>
  );
}

/** The description without its formatting: it is one line. */
function ChannelDescription({ channel }: { channel: Channel }) {
  const html = channel.rendered_description;
  const text = useMemo(() => parseHtml(html).body.textContent.trim(), [html]);
  return <p class="narrow-description" dir="auto" title={text}>{text}</p>;
}

function TopicButtons({ channel, topic }: { channel: Channel; topic: string }) {
  watch("channels", "topicPolicies", "realm", "groups");
  const policy = state().topicPolicies.get(topicKey(channel.stream_id, topic))?.visibility_policy ?? Policy.INHERIT;
  const mayResolve = topic !== "" && canResolve(state(), channel);
  const resolveLabel = isResolved(topic) ? i18n.t("Mark the topic as unresolved") : i18n.t("Mark the topic as resolved");
  const icon = policy === Policy.FOLLOWED ? "bell" : policy === Policy.MUTED ? "mute" : "topic";
  return (
    <>
      {mayResolve ? (
        <button type="button" class={`icon-button ${isResolved(topic) ? "is-on" : ""}`} data-icon="check" aria-label={resolveLabel} title={resolveLabel} onClick={() => void toggleResolved(channel, topic)} />
      ) : null}
      <button
        type="button"
        class="icon-button"
        data-icon={icon}
        aria-haspopup="menu"
        aria-label={i18n.t("Notifications of this topic")}
        title={i18n.t("Notifications of this topic")}
        onClick={(event) => openMenu(event.currentTarget, i18n.t("Notifications of this topic"), [policyItems(channel, topic, policy)])}
      />
    </>
  );
}

function PeopleTitle({ userIds }: { userIds: number[] }) {
  watch("users");
  const others = userIds.filter((id) => id !== state().userId);
  if (!others.length) return <h1 class="narrow-title" data-icon="people">{i18n.t("Notes to yourself")}</h1>;
  const [first] = others;
  if (others.length > 1) {
    return <h1 class="narrow-title" data-icon="people"><bdi>{listed(others.map((id) => userName(state(), id)))}</bdi></h1>;
  }
  const person = state().users.get(first!);
  return (
    <h1 class="narrow-title">
      <button type="button" class="narrow-person" onClick={(event) => showUserCard(first!, event.currentTarget)}>
        {person?.avatar_url ? <img src={person.avatar_url} alt="" width={24} height={24} /> : null}
        <bdi>{userName(state(), first!)}</bdi>
      </button>
      {person && !person.is_active ? <span class="badge">{i18n.t("deactivated")}</span> : null}
      {person?.is_bot ? <span class="badge">{i18n.t("bot")}</span> : null}
    </h1>
  );
}

function unreadIn(narrow: Narrow): number {
  const { unread, userId } = state();
  const here = conversationOf(narrow);
  if (here?.kind === "topic") return unread.inTopic(here.channelId, here.topic).size;
  if (here) return unread.inDirect(directKey(here.userIds, userId)).size;
  if (!narrow.terms.length) return unread.total;
  const channelId = operandFor(narrow, "channel");
  if (typeof channelId === "number" && narrow.terms.length === 1) {
    return [...(unread.topics.get(channelId)?.values() ?? [])].reduce((sum, topic) => sum + topic.ids.size, 0);
  }
  return operandFor(narrow, "is") === "mentioned" ? unread.mentions.size : 0;
}

function MarkAllRead({ narrow }: { narrow: Narrow }) {
  watch("unread");
  const count = unreadIn(narrow);
  if (!count) return null;
  const mark = async () => {
    const isAll = !narrow.terms.length;
    const isSure =
      !isAll ||
      (await confirm({
        title: i18n.t("Mark everything as read?"),
        text: i18n.t("{count, plural, one {# message is} other {# messages are}} unread, in all your conversations.", { count }),
        action: i18n.t("Mark all as read"),
      }));
    if (isSure) await attempt(() => markAllRead(narrow));
  };
  return (
    <button type="button" class="narrow-read" data-icon="eye" onClick={() => void mark()}>
      <span class="on-wide">{i18n.t("Mark all as read")}</span>
    </button>
  );
}
