import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { isResolved, listed, othersOf, senderName, topicName, userName } from "../../model/names";
import { narrowOfMessage } from "../../model/message-narrow";
import type { Match } from "../../model/feeds";
import { isPinned } from "../../model/pins";
import type { Message, User } from "../../model/state";
import { addressOf, channelAddress } from "../../router";
import { ChannelIcon } from "../../ui/icons";
import { lazy } from "../../ui/lazy";
import { memo } from "../../ui/memo";
import { MessageHtml } from "../../ui/message-html";
import { StatusEmoji } from "../../ui/status-emoji";
import { dayName, fullTime, timeOfDay } from "../../ui/time";
import { showUserCard } from "../../ui/user-card";
import { useDerived, watch } from "../../ui/watch";
import { editing, openActions, openHistory, openReactionPicker } from "./actions";
import { Reactions } from "./reactions";
import { isSelecting } from "./selecting";
import { TallBody } from "./tall-body";

const MessageEditor = lazy(async () => ({ default: (await import("./message-editor")).MessageEditor }));
const MessageButtons = lazy(async () => ({ default: (await import("./message-buttons")).MessageButtons }));
const SelectBox = lazy(() => import("./select-box"));
const Widget = lazy(async () => ({ default: (await import("./widget")).Widget }));

export interface MessageRowProps {
  id: number;
  message: Message;
  hasBar: boolean;
  beginsDay: boolean;
  isContinued: boolean;
  beginsUnread: boolean;
  /** Its content in the results of a search. */
  match: Match | undefined;
  /** Changes with what all rows show: settings, days. */
  looks: string;
}

// Each part watches what it shows: a component with the same properties is not rendered again
// with the one around it, and messages are changed in place.

/** One message, with the day, the recipients and the mark of what is unread that stand before it. */
export const MessageRow = memo((row: MessageRowProps) => {
  const { message } = row;
  watch(`message:${message.id}`, "mutedUsers");
  const [isRevealed, setRevealed] = useState(false);
  const isHidden = state().mutedUsers.has(message.sender_id) && !isRevealed;
  const name = isHidden ? i18n.t("Muted person") : senderName(state(), message);
  const isContinued = row.isContinued && !isHidden;
  return (
    <article
      class={`message ${isContinued ? "is-continued" : ""}`}
      data-message-id={message.id}
      data-unread={message.flags.includes("read") ? undefined : ""}
      aria-label={`${name}, ${timeOfDay(message.timestamp)}`}
      aria-describedby={isHidden ? undefined : `message-text-${message.id}`}
      tabIndex={-1}
    >
      {row.beginsDay ? <div class="feed-day"><span>{dayName(message.timestamp)}</span></div> : null}
      {row.hasBar ? <RecipientBar message={message} /> : null}
      {row.beginsUnread ? <div class="feed-unread"><span>{i18n.t("Unread from here")}</span></div> : null}
      {isHidden ? (
        <div class="message-hidden">
          <button type="button" onClick={() => setRevealed(true)}>{i18n.t("Show a message of a muted person")}</button>
        </div>
      ) : (
        <Shown message={message} match={row.match} isContinued={isContinued} />
      )}
    </article>
  );
});

function Shown({ message, match, isContinued }: { message: Message; match: Match | undefined; isContinued: boolean }) {
  watch(`message:${message.id}`);
  const isMention = message.flags.some((flag) => flag === "mentioned" || flag.endsWith("wildcard_mentioned"));
  const looks = ["message-grid"];
  if (isMention) looks.push("is-mention");
  if (message.type === "private") looks.push("is-direct");
  if (message.flags.includes("has_alert_word")) looks.push("has-alert");
  if (message.flags.includes("hide_link_previews")) looks.push("hides-previews");
  return (
    <div class={looks.join(" ")}>
      {isSelecting.value && message.id > 0 ? <SelectBox message={message} /> : null}
      {isContinued ? <Time message={message} /> : <Avatar message={message} />}
      <div class="message-main" id={`message-text-${message.id}`}>
        {isContinued ? null : <Head message={message} />}
        <Body message={message} match={match} />
        {message.buttons && state().userId ? <MessageButtons message={message} /> : null}
        <Marks message={message} isContinued={isContinued} />
        <Reactions message={message} />
      </div>
      <div class="message-tools">
        {state().userId ? (
          <button type="button" class="icon-button" data-icon="react" aria-label="React" aria-haspopup="dialog" title={i18n.t("React")} onClick={(event) => openReactionPicker(message, event.currentTarget)} />
        ) : null}
        <button type="button" class="icon-button" data-icon="more" aria-label="Message actions" aria-haspopup="menu" title={i18n.t("Message actions")} onClick={(event) => openActions(message, event.currentTarget)} />
      </div>
    </div>
  );
}

function Avatar({ message }: { message: Message }) {
  watch(`message:${message.id}`, "users");
  const address = state().users.get(message.sender_id)?.avatar_url ?? message.avatar_url;
  return (
    <button type="button" class="message-avatar" tabIndex={-1} aria-hidden="true" data-initial={initialOf(senderName(state(), message))} onClick={(event) => showUserCard(message.sender_id, event.currentTarget)}>
      {address ? <img src={address} alt="" width={36} height={36} loading="lazy" onError={hide} /> : null}
    </button>
  );
}

function initialOf(name: string): string {
  return [...name.trim()][0]?.toUpperCase() ?? "";
}

/** Hide a picture that cannot be loaded: the initial is behind it. */
function hide(event: Event): void {
  (event.currentTarget as HTMLElement).hidden = true;
}

function Head({ message }: { message: Message }) {
  watch(`message:${message.id}`, "users", "statuses");
  const sender = state().users.get(message.sender_id);
  const name = senderName(state(), message);
  return (
    <header class="message-head">
      <button type="button" class="message-sender" dir="auto" onClick={(event) => showUserCard(message.sender_id, event.currentTarget)}>
        {name}
      </button>
      <Badges sender={sender} />
      <Time message={message} />
    </header>
  );
}

function Badges({ sender }: { sender: User | undefined }) {
  if (!sender) return null;
  return (
    <>
      <StatusEmoji userId={sender.user_id} />
      {sender.is_bot ? <span class="badge">{i18n.t("bot")}</span> : null}
      {sender.is_guest && state().fields.realm_enable_guest_user_indicator !== false ? <span class="badge">{i18n.t("guest")}</span> : null}
      {sender.is_active ? null : <span class="badge">{i18n.t("deactivated")}</span>}
    </>
  );
}

function Time({ message }: { message: Message }) {
  watch(`message:${message.id}`, "settings");
  const { id, timestamp } = message;
  const time = (
    <time dateTime={new Date(timestamp * 1000).toISOString()} title={fullTime(timestamp)}>{timeOfDay(timestamp)}</time>
  );
  if (id < 0) return <span class="message-time">{time}</span>;
  return <a class="message-time" href={addressOf(narrowOfMessage(state(), message, id))}>{time}</a>;
}

function Body({ message, match }: { message: Message; match: Match | undefined }) {
  watch(`message:${message.id}`);
  if (editing.value === message.id) return <MessageEditor message={message} />;
  // One that was edited since is shown as it is.
  const marked = match?.content === message.content ? match.marked : undefined;
  if (message.submessages.length) return <Widget message={message} />;
  if (message.is_me_message) {
    const html = (marked ?? message.content).replace(/^<p>\/me\s?/, "<p>");
    return (
      <div class="message-me">
        <MessageHtml html={html} />
      </div>
    );
  }
  // What was found may stand anywhere in the message.
  if (marked !== undefined) return <MessageHtml html={marked} />;
  return <TallBody id={message.id} html={message.content} />;
}

/** Whether it was edited or moved, and whether it is pinned and starred. */
function Marks({ message, isContinued }: { message: Message; isContinued: boolean }) {
  watch(`message:${message.id}`);
  const pinned = useDerived(() => {
    watch("pins");
    return isPinned(state(), message);
  }, [message.id, message.stream_id]);
  const { last_edit_timestamp: edited, last_moved_timestamp: moved } = message;
  const isStarred = message.flags.includes("starred");
  if (!edited && !moved && !isStarred && !pinned) return null;
  const text = edited ? i18n.t("edited") : i18n.t("moved");
  const when = edited ?? moved;
  return (
    <span class={`message-marks ${isContinued ? "" : "beside-head"}`}>
      {pinned ? <span class="message-pin" data-icon="pin" role="img" aria-label={i18n.t("Pinned")} /> : null}
      {isStarred ? <span class="message-star" data-icon="star-on" role="img" aria-label={i18n.t("Starred")} /> : null}
      {when ? (
        <button type="button" class="message-edited" title={fullTime(when)} onClick={() => openHistory(message)}>{text}</button>
      ) : null}
    </span>
  );
}

function RecipientBar({ message }: { message: Message }) {
  watch(`message:${message.id}`, "channels", "users");
  const address = addressOf(narrowOfMessage(state(), message));
  if (message.type === "private") {
    const names = othersOf(state(), message).map((id) => userName(state(), id));
    return (
      <div class="feed-bar is-direct">
        <a href={address} data-icon="people">
          {names.length === 1 && othersOf(state(), message)[0] === state().userId
            ? i18n.t("Notes to yourself")
            : i18n.t("You and {names}", { names: listed(names) })}
        </a>
      </div>
    );
  }
  const channel = state().channels.get(message.stream_id!);
  return (
    <div class="feed-bar of-topic" ref={(bar) => bar?.style.setProperty("--channel", channel?.color ?? "var(--muted)")}>
      <a class="feed-bar-channel" href={channelAddress(message.stream_id!)}>
        <ChannelIcon channel={channel} />
        <bdi>{channel?.name ?? String(message.display_recipient)}</bdi>
      </a>
      <a class={`feed-bar-topic ${isResolved(message.subject) ? "is-resolved" : ""}`} href={address}>
        <bdi>{topicName(state(), message.subject)}</bdi>
      </a>
    </div>
  );
}
