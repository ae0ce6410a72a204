/** The bar with what can be done with the selected messages. */

import { useEffect } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { canDelete, canMoveChannel, canMoveTopic } from "../../model/message-permissions";
import type { Message } from "../../model/state";
import { post } from "../../protocol/client";
import { confirm, openDialog } from "../../ui/dialog";
import type { IconName } from "../../ui/icons";
import { load } from "../../ui/lazy";
import { attempt, toast } from "../../ui/toast";
import { watch } from "../../ui/watch";
import { refusedBy } from "./refused";
import { endSelecting, lastSelected, selectedIds } from "./selection";

export default function SelectionBar() {
  watch("feeds", "channels", "realm", "groups");
  useEffect(endByEscape, []);
  const { messages } = state();
  const chosen = selectedIds().map((id) => messages.get(id)).filter((each): each is Message => each !== undefined);
  const count = chosen.length;
  return (
    <section class="selection-bar" aria-label={i18n.t("Selected messages")}>
      <p role="status">{i18n.t("{count, plural, one {# message selected} other {# messages selected}}", { count })}</p>
      <Action icon="move" text={i18n.t("Move")} reason={hindersMove(chosen)} onClick={() => openMove(chosen)} />
      <Action icon="trash" text={i18n.t("Delete")} reason={hindersDelete(chosen)} onClick={() => void removeAll(chosen)} />
      <button type="button" onClick={finish}>{i18n.t("Cancel")}</button>
    </section>
  );
}

interface ActionProps {
  icon: IconName;
  text: string;
  /** Why it cannot be done with these messages. */
  reason: string | undefined;
  onClick: () => void;
}

function Action({ icon, text, reason, onClick }: ActionProps) {
  return (
    <button
      type="button"
      data-icon={icon}
      aria-disabled={reason ? true : undefined}
      aria-description={reason}
      title={reason}
      onClick={() => (reason ? toast(reason, { isProblem: true }) : onClick())}
    >
      {text}
    </button>
  );
}

/** End the selection by Escape, where there is nothing else to close. Returns a function that ends this. */
function endByEscape(): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open], .popover")) return;
    if ((event.target as HTMLElement).closest("textarea, input:not([type=checkbox])")) return;
    event.preventDefault();
    finish();
  };
  // Before the keys of the page, by which Escape may leave the feed.
  document.addEventListener("keydown", onKeyDown, true);
  return () => document.removeEventListener("keydown", onKeyDown, true);
}

/** End the selection. What had the focus in the bar gives it to the message that was selected last. */
function finish(): void {
  const article = document.querySelector<HTMLElement>(`[data-message-id="${lastSelected()}"]`);
  endSelecting();
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    const place = article?.isConnected ? article : document.querySelector<HTMLElement>(".feed-scroller");
    place?.focus({ preventScroll: true });
  });
}

function deletable(chosen: readonly Message[]): Message[] {
  const now = Date.now();
  return chosen.filter((each) => canDelete(state(), each, now));
}

function movable(chosen: readonly Message[]): Message[] {
  const now = Date.now();
  return chosen.filter((each) => canMoveTopic(state(), each, now) || canMoveChannel(state(), each, now));
}

function hindersMove(chosen: readonly Message[]): string | undefined {
  if (!chosen.length) return i18n.t("Select messages first.");
  const possible = movable(chosen);
  if (!possible.length) return i18n.t("You cannot move these messages.");
  if (new Set(possible.map((each) => each.stream_id)).size > 1) return i18n.t("Messages of several channels cannot be moved together.");
  return undefined;
}

function hindersDelete(chosen: readonly Message[]): string | undefined {
  if (!chosen.length) return i18n.t("Select messages first.");
  return deletable(chosen).length ? undefined : i18n.t("You cannot delete these messages.");
}

function openMove(chosen: readonly Message[]): void {
  const possible = movable(chosen);
  void attempt(async () => {
    const MoveDialog = await load(async () => (await import("./dialogs/move")).MoveDialog);
    openDialog((close) => (
      <MoveDialog message={possible[0]!} chosen={possible} left={chosen.length - possible.length} onMoved={finish} onClose={close} />
    ));
  });
}

/** Delete the messages that the user may delete, after a confirmation. */
async function removeAll(chosen: readonly Message[]): Promise<void> {
  let ids = deletable(chosen).map((each) => each.id);
  const left = chosen.length - ids.length;
  let note = left ? i18n.t("{count, plural, one {You cannot delete # of the selected messages: it stays.} other {You cannot delete # of the selected messages: they stay.}}", { count: left }) : "";
  while (ids.length && (await isSure(ids.length, note))) {
    try {
      await post("/messages/delete", { message_ids: ids });
      toast(i18n.t("{count, plural, one {# message deleted.} other {# messages deleted.}}", { count: ids.length }));
      finish();
      return;
    } catch (error) {
      const refused = refusedBy(error);
      ids = refused ? ids.filter((id) => !refused.ids.has(id)) : [];
      if (!ids.length) toast((error as Error).message, { isProblem: true });
      else note = i18n.t("{count, plural, one {# message cannot be deleted, and stays.} other {# messages cannot be deleted, and stay.}}", { count: refused!.ids.size }) + ` ${refused!.text}`;
    }
  }
}

function isSure(count: number, note: string): Promise<boolean> {
  const text = i18n.t("They are gone for all who can read them, with their reactions. This cannot be undone.");
  return confirm({
    title: i18n.t("{count, plural, one {Delete # message?} other {Delete # messages?}}", { count }),
    text: note ? `${note} ${text}` : text,
    action: i18n.t("Delete"),
    isDangerous: true,
  });
}
