/** Actions on a message, behind buttons and keys. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { state, theModel } from "../../app";
import { i18n } from "../../i18n";
import type { Emoji } from "../../model/emoji";
import { canEditContent, canMoveChannel, canMoveTopic, editHistory } from "../../model/message-permissions";
import type { Message } from "../../model/state";
import { ApiError, del, post } from "../../protocol/client";
import { confirm, openDialog } from "../../ui/dialog";
import { load } from "../../ui/lazy";
import type { Shortcut } from "../../ui/shortcuts";
import { attempt, toast } from "../../ui/toast";
import { quote, reply, replyPrivately } from "../compose/target";
import { unreadFrom } from "./unread-from";

/** The message that is being edited in its place. */
export const editing = signal<number | undefined>(undefined);
/** What had the focus when the edit began. */
let editedFrom: Element | null = null;

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

/** Change which messages are selected. */
export function inSelection(message: Message, change: (selection: typeof import("./selection")) => void): void {
  if (isSent(message)) void attempt(async () => change(await load(() => import("./selection"))));
}

type MessageDialog = ComponentType<{ message: Message; onClose: () => void }>;

export function openLazily(message: Message, importer: () => Promise<MessageDialog>): void {
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

export function openReceipts(message: Message): void {
  openLazily(message, async () => (await import("./dialogs/receipts")).ReceiptsDialog);
}

export function quoteMessage(message: Message): void {
  void attempt(() => quote(message));
}

export function openActions(message: Message, anchor: Element | { x: number; y: number }): void {
  if (isSent(message)) void attempt(async () => (await load(() => import("./message-menu"))).openMessageMenu(message, anchor));
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
  { keys: ["s"], name: () => i18n.t("Select"), act: (message) => inSelection(message, ({ isSelected, select }) => select(message.id, !isSelected(message.id))) },
  { keys: ["S"], name: () => i18n.t("Select up to here"), act: (message) => inSelection(message, ({ select }) => select(message.id, true, true)) },
  { keys: ["U"], name: () => i18n.t("Mark as unread from here"), act: unreadFrom },
  { keys: ["V"], name: () => i18n.t("Read receipts"), act: openReceipts },
];
