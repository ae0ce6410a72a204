/** Notifications of the system and sounds, by the page: what arrives while the person looks elsewhere. */

import { effect } from "@preact/signals";
import { health, isLeader, onBatch, state } from "../app";
import { narrowOfMessage } from "../model/message-narrow";
import type { ServerEvent } from "../model/events";
import type { Message } from "../model/state";
import { i18n } from "../i18n";
import { get } from "../protocol/client";
import type { ReactionNotificationEvent } from "../protocol/types";
import { addressOf } from "../router";
import { randomId, storageOf } from "../sync/tab-id";
import { watch } from "../ui/watch";
import { forgetAccount } from "./account";
import { decide, iconCount } from "./decision";
import { editedMessage, mentionsAnew } from "./edits";
import { TabIcon } from "./tab-icon";
import { isLookedAt, shareFocus } from "./focus";
import { addressIsOpened, registration } from "./push";
import { ageOf, type ShownData, tagOf, tagOfReactions } from "./shown";
import { playSound } from "./sound";
import { bodyOf, bodyOfReactions, titleOf } from "./text";

const READING = new Set(["update_message_flags", "delete_message"]);
const COUNTED_AFTER_MS = 200;
/** Notifications without a worker, by tag. */
const shown = new Map<string, { notification: Notification; data: ShownData }>();
const storage = storageOf("localStorage");

/** `placeTitle` names what the page shows. */
export function startNotifications(placeTitle: () => string): void {
  shareFocus(randomId(8), storage);
  onBatch((events) => {
    if (!isLeader()) return;
    void notifyOf(events);
    for (const event of events) if (event.type === "reaction_notification") void notifyOfReactions(event);
    if (events.some((each) => READING.has(each.type))) void closeRead();
  });
  void closeRead();
  showCount(placeTitle);
  effect(() => {
    if (health.value.kind === "signed-out") void forgetAccount().catch(() => {});
  });
}

async function notifyOf(events: readonly ServerEvent[]): Promise<void> {
  if (!events.some((each) => each.type === "message" || each.type === "update_message") || isLookedAt(storage)) return;
  // Of each conversation the newest message only: after a sleep there may be many.
  const newest = new Map<string, Message>();
  let isHeard = false;
  for (const event of events) {
    const message = event.type === "message" ? state().messages.get(event.message.id) : undefined;
    if (!message) continue;
    const decision = decide(state(), message);
    isHeard ||= decision.isHeard;
    if (decision.isShown) newest.set(tagOfMessage(message), message);
  }
  for (const message of await newlyMentioning(events)) {
    const decision = decide(state(), message);
    isHeard ||= decision.isHeard;
    // It may be older than what is shown of its conversation.
    if (decision.isShown) newest.set(`${tagOfMessage(message)}:${message.id}`, message);
  }
  if (isHeard) void playSound(String(state().settings.notification_sound));
  for (const [tag, message] of newest) await show(tag, message);
}

/** Return the messages that mention one since they were edited. */
async function newlyMentioning(events: readonly ServerEvent[]): Promise<Message[]> {
  const edits = events.filter((each) => each.type === "update_message").filter((each) => mentionsAnew(state(), each));
  const found = await Promise.all(edits.map((each) => editedMessage(each, state().messages.get(each.message_id), fetchMessage)));
  return found.filter((each) => each !== undefined);
}

/** Show the reactions to a message of the user, unless they look at the page. */
async function notifyOfReactions(event: ReactionNotificationEvent): Promise<void> {
  const { settings, messages } = state();
  if (isLookedAt(storage) || settings.enable_reaction_notifications !== true) return;
  if (settings.enable_sounds === true) void playSound(String(settings.notification_sound));
  if (settings.enable_desktop_notifications !== true) return;
  let message: Message;
  try {
    message = messages.get(event.message_id) ?? (await fetchMessage(event.message_id));
  } catch {
    // It was deleted, or the server is away: there is nothing to show.
    return;
  }
  const now = state();
  await showSystem(i18n.t("Reactions to your message"), {
    body: bodyOfReactions(now, event, message),
    tag: tagOfReactions(message.id),
    data: { windowId: event.window_id, address: `/${addressOf(narrowOfMessage(now, message, message.id))}` },
  });
}

async function fetchMessage(id: number): Promise<Message> {
  return (await get<{ message: Message }>(`/messages/${id}`, { client_gravatar: false })).message;
}

function tagOfMessage(message: Message): string {
  if (message.type === "stream") return tagOf({ kind: "topic", channelId: message.stream_id!, topic: message.subject });
  return tagOf({ kind: "direct", userIds: (message.display_recipient as { id: number }[]).map((each) => each.id) });
}

async function show(tag: string, message: Message): Promise<void> {
  const now = state();
  await showSystem(titleOf(now, message), {
    body: bodyOf(now, message),
    icon: now.users.get(message.sender_id)?.avatar_url ?? `/avatar/${message.sender_id}`,
    tag,
    data: { messageId: message.id, address: `/${addressOf(narrowOfMessage(now, message, message.id))}` },
    timestamp: message.timestamp * 1_000,
  });
}

type Shown = NotificationOptions & { tag: string; data: ShownData; timestamp?: number };

/** Show a notification, unless one with its tag is there that is as new. */
async function showSystem(title: string, shown: Shown): Promise<void> {
  if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
  // The page plays the sound that the person has chosen.
  const options = { ...shown, silent: true, renotify: true };
  const worker = await registration();
  if (worker) {
    const [present] = await worker.getNotifications({ tag: shown.tag });
    if (ageOf(present?.data as ShownData | null | undefined) < ageOf(shown.data)) await worker.showNotification(title, options);
    return;
  }
  try {
    keep(shown.tag, new Notification(title, options), shown.data);
  } catch (error) {
    // Phones show notifications by a worker only.
    if (!(error instanceof TypeError)) throw error;
  }
}

function keep(tag: string, notification: Notification, data: ShownData): void {
  shown.set(tag, { notification, data });
  notification.addEventListener("click", () => {
    window.focus();
    addressIsOpened(data.address);
    notification.close();
  });
  notification.addEventListener("close", () => {
    if (shown.get(tag)?.notification === notification) shown.delete(tag);
  });
}

/** Close the notifications of which the newest message was read or deleted, here or elsewhere. */
async function closeRead(): Promise<void> {
  const { unread, maxMessageId } = state();
  // What the worker was told of may not have reached the page yet.
  const isOver = ({ messageId }: ShownData) => messageId !== undefined && messageId <= maxMessageId && !unread.has(messageId);
  for (const { notification, data } of [...shown.values()]) if (isOver(data)) notification.close();
  for (const notification of (await (await registration())?.getNotifications()) ?? []) {
    if (notification.data && isOver(notification.data as ShownData)) notification.close();
  }
}

/** Show from now on where one is and how much is unread, in the title and on the icon of the installed client. */
function showCount(placeTitle: () => string): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  const icon = link && new TabIcon(link);
  const update = () => {
    timer = undefined;
    const count = iconCount(state());
    const title = [placeTitle(), state().fields.realm_name].filter(Boolean).join(" – ");
    // The desktop app reads the count at the beginning.
    document.title = count ? `(${count}) ${title}` : title;
    void icon?.show(count);
    const badge = count ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.();
    badge?.catch(() => {});
  };
  effect(() => {
    watch("unread", "channels", "topicPolicies", "mutedUsers", "settings", "realm", "users");
    placeTitle();
    timer ??= setTimeout(update, COUNTED_AFTER_MS);
  });
}
