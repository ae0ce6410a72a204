/** Actions on a message: the menu, and the actions behind buttons and keys. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { state, theModel } from "../../app";
import { i18n } from "../../i18n";
import type { Emoji } from "../../model/emoji";
import { canDelete, canEditContent, canMoveChannel, canMoveTopic, canReport, editHistory } from "../../model/message-permissions";
import { narrowOfMessage } from "../../model/message-narrow";
import type { Message } from "../../model/state";
import { ApiError, del, post } from "../../protocol/client";
import { addressOf } from "../../router";
import { copyText } from "../../ui/copy";
import { confirm, openDialog } from "../../ui/dialog";
import type { IconName } from "../../ui/icons";
import { load } from "../../ui/lazy";
import { type MenuGroups, type MenuItem, openMenu } from "../../ui/menu";
import type { Shortcut } from "../../ui/shortcuts";
import { attempt, toast } from "../../ui/toast";
import { quote, reply, replyPrivately } from "../compose/target";
import { unreadFrom } from "./unread-from";

/** The message that is being edited in its place. */
export const editing = signal<number | undefined>(undefined);
/** What had the focus when the edit began. */
let editedFrom: Element | null = null;

function isOwn(message: Message): boolean {
  return message.sender_id === state().userId;
}

/** Return whether a message is one of the server, and not one that is being sent. */
function isSent(message: Message): boolean {
  return message.id > 0;
}

/** Add a reaction of the user, or take it back. It is shown at once. */
export async function toggleReaction(message: Message, { name, code, type }: Emoji): Promise<void> {
  const { userId } = state();
  if (!userId) {
    toast(i18n.t("Sign in to react to messages."));
    return;
  }
  const is = message.reactions.some((each) => each.user_id === userId && each.emoji_code === code && each.reaction_type === type);
  const show = (op: "add" | "remove") => {
    const model = theModel();
    model.apply({ type: "reaction", op, message_id: message.id, user_id: userId, emoji_name: name, emoji_code: code, reaction_type: type });
    model.changes.flush();
  };
  const send = is ? del : post;
  show(is ? "remove" : "add");
  try {
    await send(`/messages/${message.id}/reactions`, { emoji_name: name, emoji_code: code, reaction_type: type });
  } catch (error) {
    if (error instanceof ApiError && (error.code === "REACTION_ALREADY_EXISTS" || error.code === "REACTION_DOES_NOT_EXIST")) return;
    show(is ? "add" : "remove");
    toast((error as Error).message, { isProblem: true });
  }
}

export function openReactionPicker(message: Message, anchor: Element): void {
  if (!isSent(message) || !state().userId) return;
  void attempt(async () => {
    const { openEmojiPicker } = await load(() => import("../../ui/emoji-picker"));
    openEmojiPicker(anchor, (emoji) => void toggleReaction(message, emoji));
  });
}

export function toggleStar(message: Message): Promise<boolean> {
  const op = message.flags.includes("starred") ? "remove" : "add";
  return attempt(() => post("/messages/flags", { messages: [message.id], op, flag: "starred" }));
}

/** Whether a message has previews of what it links, besides those of its own files. */
function hasPreviews({ content }: Message): boolean {
  return content.includes('<div class="message_embed">') || /<div class="message_inline_image[^"]*"><a href="(?!\/user_uploads\/)/.test(content);
}

function togglePreviews(message: Message): Promise<boolean> {
  const op = message.flags.includes("hide_link_previews") ? "remove" : "add";
  return attempt(() => post("/messages/flags", { messages: [message.id], op, flag: "hide_link_previews" }));
}

export function edit(message: Message): void {
  if (!canEditContent(state(), message, Date.now())) return;
  editedFrom = document.activeElement;
  editing.value = message.id;
}

/** End the edit: the focus goes back to the field that it began in, or to the message. */
export function endEditing(): void {
  const article = document.querySelector<HTMLElement>(`[data-message-id="${editing.peek()}"]`);
  editing.value = undefined;
  const field = editedFrom instanceof HTMLTextAreaElement && editedFrom.isConnected ? editedFrom : undefined;
  (field ?? article)?.focus({ preventScroll: true });
}

export async function remove(message: Message): Promise<void> {
  const isSure = await confirm({
    title: i18n.t("Delete this message?"),
    text: i18n.t("It is gone for all who can read it, with its reactions. This cannot be undone."),
    action: i18n.t("Delete"),
    isDangerous: true,
  });
  if (isSure) await attempt(() => del(`/messages/${message.id}`));
}

export function linkTo(message: Message): string {
  return new URL(`/${addressOf(narrowOfMessage(state(), message, message.id))}`, location.href).href;
}

async function copyLink(message: Message): Promise<void> {
  const isCopied = await copyText(linkTo(message));
  toast(isCopied ? i18n.t("Link copied.") : i18n.t("The browser does not allow copying."), { isProblem: !isCopied });
}

type MessageDialog = ComponentType<{ message: Message; onClose: () => void }>;

function openLazily(message: Message, importer: () => Promise<MessageDialog>): void {
  void attempt(async () => {
    const Dialog = await load(importer);
    openDialog((close) => <Dialog message={message} onClose={close} />);
  });
}

export function openHistory(message: Message): void {
  if (editHistory(state()) !== "none") openLazily(message, async () => (await import("./dialogs/history")).HistoryDialog);
}

export function openMove(message: Message): void {
  openLazily(message, async () => (await import("./dialogs/move")).MoveDialog);
}

function openReceipts(message: Message): void {
  openLazily(message, async () => (await import("./dialogs/receipts")).ReceiptsDialog);
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

export function quoteMessage(message: Message): void {
  void attempt(() => quote(message));
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
      item("Mark as unread from here", i18n.t("Mark as unread from here"), "unread", () => unreadFrom(message), { keys: "U" }),
      item("Remind me", i18n.t("Remind me"), "alarm", () => openReminder(message)),
      item("Copy link", i18n.t("Copy link"), "link", () => void copyLink(message)),
      ...when(hasPreviews(message), item(hidesPreviews ? "Show previews" : "Hide previews", hidesPreviews ? i18n.t("Show previews of links") : i18n.t("Hide previews of links"), "eye", () => void togglePreviews(message))),
    ],
    [
      ...when(given.fields.realm_enable_read_receipts !== false, item("View read receipts", i18n.t("View read receipts"), "eye", () => openReceipts(message), { keys: "V" })),
      ...when(isChanged && editHistory(given) !== "none", item("View edit history", i18n.t("View edit history"), "history", () => openHistory(message))),
      ...when(!isOwn(message) && canReport(given), item("Report", i18n.t("Report"), "flag", () => openReport(message))),
    ],
    when(canDelete(given, message, now), item("Delete", i18n.t("Delete"), "trash", () => void remove(message), { isDangerous: true })),
  ];
}

export function openActions(message: Message, anchor: Element | { x: number; y: number }): void {
  if (isSent(message)) openMenu(anchor, i18n.t("Message actions"), itemsFor(message));
}

/** The keys that act on a message. */
export const MESSAGE_KEYS: readonly Shortcut<(message: Message, article: HTMLElement) => void>[] = [
  { keys: ["r", "Enter"], name: () => i18n.t("Reply"), act: reply },
  { keys: ["R"], name: () => i18n.t("Reply to the sender alone"), act: replyPrivately },
  { keys: ["q", ">"], name: () => i18n.t("Quote and reply"), act: quoteMessage },
  { keys: ["e"], name: () => i18n.t("Edit"), act: edit },
  {
    keys: ["+"],
    name: () => i18n.t("React"),
    act: (message, article) => openReactionPicker(message, article.querySelector(".message-tools button") ?? article),
  },
  { keys: ["*"], name: () => i18n.t("Star"), act: (message) => void toggleStar(message) },
  {
    keys: ["m"],
    name: () => i18n.t("Move"),
    act: (message) => {
      const now = Date.now();
      if (canMoveTopic(state(), message, now) || canMoveChannel(state(), message, now)) openMove(message);
    },
  },
  { keys: ["U"], name: () => i18n.t("Mark as unread from here"), act: unreadFrom },
  { keys: ["V"], name: () => i18n.t("Read receipts"), act: openReceipts },
];
