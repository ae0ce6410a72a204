/** The menu of a message. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { canDelete, canEditContent, canMoveChannel, canMoveTopic, canPin, canReport, editHistory } from "../../model/message-permissions";
import { narrowOfMessage } from "../../model/message-narrow";
import { isPinned } from "../../model/pins";
import type { Message } from "../../model/state";
import { del, post, put } from "../../protocol/client";
import { addressOf } from "../../router";
import { copyText } from "../../ui/copy";
import type { IconName } from "../../ui/icons";
import { type MenuGroups, type MenuItem, openMenu } from "../../ui/menu";
import { attempt, toast } from "../../ui/toast";
import { unreadFrom } from "./unread-from";
import { edit, inSelection, openHistory, openLazily, openMove, openReceipts, quoteMessage, remove, toggleStar } from "./actions";

function isOwn(message: Message): boolean {
  return message.sender_id === state().userId;
}

/** Pin a message in its channel, or unpin it. */
export function togglePin(message: Pick<Message, "id" | "stream_id">): Promise<boolean> {
  const send = isPinned(state(), message) ? del : put;
  return attempt(() => send(`/messages/${message.id}/pin`));
}

/** Whether a message has previews of what it links, besides those of its own files. */
function hasPreviews({ content }: Message): boolean {
  return content.includes('<div class="message_embed">') || /<div class="message_inline_image[^"]*"><a href="(?!\/user_uploads\/)/.test(content);
}

function togglePreviews(message: Message): Promise<boolean> {
  const op = message.flags.includes("hide_link_previews") ? "remove" : "add";
  return attempt(() => post("/messages/flags", { messages: [message.id], op, flag: "hide_link_previews" }));
}

function linkTo(message: Message): string {
  return new URL(`/${addressOf(narrowOfMessage(state(), message, message.id))}`, location.href).href;
}

async function copyLink(message: Message): Promise<void> {
  const isCopied = await copyText(linkTo(message));
  toast(isCopied ? i18n.t("Link copied.") : i18n.t("The browser does not allow copying."), { isProblem: !isCopied });
}

function openForward(message: Message): void {
  openLazily(message, async () => (await import("./dialogs/forward")).ForwardDialog);
}

function openReminder(message: Message): void {
  openLazily(message, async () => (await import("./dialogs/reminder")).ReminderDialog);
}

function openReport(message: Message): void {
  openLazily(message, async () => (await import("./dialogs/report")).ReportDialog);
}

/** Return the items of a message's menu that the user may use. */
function itemsFor(message: Message): MenuGroups {
  const now = Date.now();
  const given = state();
  const isStarred = message.flags.includes("starred");
  const hidesPreviews = message.flags.includes("hide_link_previews");
  const item = (name: string, text: string, icon: IconName, onSelect: () => void, more: Partial<MenuItem> = {}): MenuItem => ({
    name,
    text,
    icon,
    onSelect,
    ...more,
  });
  const when = (condition: boolean, found: MenuItem): MenuItem[] => (condition ? [found] : []);
  // Spectators may read, and pass on where.
  if (!given.userId) return [[item("Copy link", i18n.t("Copy link"), "link", () => void copyLink(message))]];
  const canMove = canMoveTopic(given, message, now) || canMoveChannel(given, message, now);
  const mayDelete = canDelete(given, message, now);
  const channel = given.channels.get(message.stream_id!);
  const mayPin = channel?.is_subscribed === true && canPin(given, channel);
  const pinText = isPinned(given, message) ? i18n.t("Unpin message") : i18n.t("Pin message");
  const isChanged = Boolean(message.last_edit_timestamp ?? message.last_moved_timestamp);
  return [
    [
      ...when(canEditContent(given, message, now), item("Edit", i18n.t("Edit"), "edit", () => edit(message), { keys: "e" })),
      item("Quote and reply", i18n.t("Quote and reply"), "quote", () => quoteMessage(message), { keys: "q" }),
      item("Forward", i18n.t("Forward"), "forward", () => openForward(message)),
      ...when(canMove, item("Move", i18n.t("Move"), "move", () => openMove(message), { keys: "m" })),
    ],
    [
      item(isStarred ? "Unstar" : "Star", isStarred ? i18n.t("Unstar") : i18n.t("Star"), isStarred ? "star-on" : "star", () => void toggleStar(message), { keys: "*" }),
      ...when(mayPin, item(isPinned(given, message) ? "Unpin message" : "Pin message", pinText, "pin", () => void togglePin(message))),
      item("Mark as unread from here", i18n.t("Mark as unread from here"), "unread", () => unreadFrom(message), { keys: "U" }),
      item("Remind me", i18n.t("Remind me"), "alarm", () => openReminder(message)),
      item("Copy link", i18n.t("Copy link"), "link", () => void copyLink(message)),
      ...when(canMove || mayDelete, item("Select messages", i18n.t("Select messages"), "check", () => inSelection(message, ({ select }) => select(message.id, true)), { keys: "s" })),
      ...when(hasPreviews(message), item(hidesPreviews ? "Show previews" : "Hide previews", hidesPreviews ? i18n.t("Show previews of links") : i18n.t("Hide previews of links"), "eye", () => void togglePreviews(message))),
    ],
    [
      ...when(given.fields.realm_enable_read_receipts !== false, item("View read receipts", i18n.t("View read receipts"), "eye", () => openReceipts(message), { keys: "V" })),
      ...when(isChanged && editHistory(given) !== "none", item("View edit history", i18n.t("View edit history"), "history", () => openHistory(message))),
      ...when(!isOwn(message) && canReport(given), item("Report", i18n.t("Report"), "flag", () => openReport(message))),
    ],
    when(mayDelete, item("Delete", i18n.t("Delete"), "trash", () => void remove(message), { isDangerous: true })),
  ];
}

/** Open the menu at an element, or where a finger was held. */
export function openMessageMenu(message: Message, anchor: Element | { x: number; y: number }): void {
  openMenu(anchor, i18n.t("Message actions"), itemsFor(message));
}
