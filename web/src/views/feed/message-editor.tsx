import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { canDelete } from "../../model/message-permissions";
import type { Message } from "../../model/state";
import { ApiError, patch } from "../../protocol/client";
import { confirm } from "../../ui/dialog";
import { lazy, load } from "../../ui/lazy";
import { attempt } from "../../ui/toast";
import { MessageBox } from "../compose/message-box";
import { Preview } from "../compose/preview";
import { overLimit } from "../compose/rules";
import { targetOfMessage } from "../compose/target";
import { Toolbar } from "../compose/toolbar";
import { uploadsOf, waitsForUploads } from "../compose/upload-list";
import { useDrop } from "../compose/use-drop";
import { editing, endEditing, remove } from "./actions";
import { type EditSession, endSession, sessionOf } from "./edit-session";

const Uploads = lazy(() => import("../compose/upload-rows"));

/** SHA-256 in hexadecimal; undefined without a secure context, where browsers offer none. */
async function sha256(text: string): Promise<string | undefined> {
  if (!globalThis.crypto?.subtle) return undefined;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Edit a message in its place. */
export function MessageEditor({ message }: { message: Message }) {
  const session = sessionOf(message.id);
  useEffect(() => {
    if (session.original.peek() !== undefined) return;
    void attempt(() => session.begin()).then((isFetched) => {
      if (!isFetched) close(session);
    });
  }, [session]);
  if (session.original.value === undefined) return <p class="message-loading">{i18n.t("Loading the text")}</p>;
  return <EditForm message={message} session={session} />;
}

/** End an edit: what is uploaded for it still is given up, and the focus goes back to where it began. */
function close(session: EditSession): void {
  const { box, id } = session;
  if (uploadsOf(box).length) void load(() => import("../compose/uploads")).then((module) => module.cancelUploadsOf(box));
  endSession(session);
  if (editing.peek() === id) endEditing();
}

async function cancel(session: EditSession): Promise<void> {
  const isSure =
    !session.isChanged ||
    (await confirm({
      title: i18n.t("Discard your changes?"),
      text: i18n.t("The message stays as it was."),
      action: i18n.t("Discard"),
      isDangerous: true,
    }));
  if (isSure) close(session);
}

/** Replace the message's text, unless it was changed elsewhere meanwhile. */
async function save(session: EditSession): Promise<void> {
  const original = session.original.peek()!;
  if (!session.isChanged) return close(session);
  session.problem.value = "";
  try {
    await patch(`/messages/${session.id}`, { content: session.text.peek(), prev_content_sha256: await sha256(original) });
    close(session);
  } catch (error) {
    if (error instanceof ApiError && error.code === "EXPECTATION_MISMATCH") {
      session.problem.value = i18n.t("The message was changed elsewhere meanwhile. Save again to replace it by your text, or cancel.");
      await session.renew();
    } else session.problem.value = (error as Error).message;
  }
}

/** Return why a text cannot be saved; undefined if it can. */
function refusalOf(message: Message, text: string): string | undefined {
  if (!text.trim() && !canDelete(state(), message, Date.now())) return i18n.t("A message cannot be empty.");
  const limit = Number(state().fields.max_message_length ?? 10_000);
  if (overLimit(state(), text) > 0) return i18n.t("A message has at most {limit} characters.", { limit });
  return waitsForUploads(text) ? i18n.t("Wait until all files are uploaded.") : undefined;
}

function EditForm({ message, session }: { message: Message; session: EditSession }) {
  const { box } = session;
  const text = session.text.value;
  const to = useMemo(() => targetOfMessage(message), [message.subject, message.stream_id]);
  session.to = to;
  const [isSaving, setSaving] = useState(false);
  const [isPreview, setPreview] = useState(false);
  useLayoutEffect(() => {
    const isElsewhere = session.isBegun && document.activeElement?.matches("input, textarea");
    if (isPreview || isElsewhere) return;
    session.isBegun = true;
    box.element?.focus();
    box.element?.setSelectionRange(text.length, text.length);
  }, [isPreview]);
  const onFiles = (files: File[]) => {
    setPreview(false);
    void load(() => import("../compose/uploads")).then((module) => module.attach(files, box));
  };
  const { isOver, handlers } = useDrop(onFiles);
  const refusal = refusalOf(message, text);
  const submit = async () => {
    if (isSaving || refusal) return;
    if (!text.trim()) return void remove(message);
    setSaving(true);
    await save(session);
    setSaving(false);
  };
  const shown = refusal ?? session.problem.value;
  return (
    <form
      class={isOver ? "message-editor dropping" : "message-editor"}
      {...handlers}
      onKeyDown={(event) => {
        // On its buttons as well: the page's own Escape would lead away.
        if (event.key !== "Escape" || event.isComposing) return;
        event.preventDefault();
        event.stopPropagation();
        void cancel(session);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {isPreview ? (
        <Preview text={text} />
      ) : (
        <MessageBox
          box={box}
          label={i18n.t("Edit message")}
          listId={`edit-completions-${session.id}`}
          to={to}
          isFloating
          text={text}
          onFiles={onFiles}
          onSubmit={() => void submit()}
        />
      )}
      {uploadsOf(box).length || text.includes("/user_uploads/") ? <Uploads box={box} text={text} /> : null}
      {shown ? <p class="problem" role="alert">{shown}</p> : null}
      <div class="editor-bar">
        <Toolbar box={box} isPreview={isPreview} onPreview={() => setPreview(!isPreview)} onFiles={onFiles} />
        <div class="editor-buttons">
          <button type="submit" class="primary" aria-disabled={isSaving || refusal !== undefined}>{i18n.t("Save")}</button>
          <button type="button" onClick={() => void cancel(session)}>{i18n.t("Cancel")}</button>
        </div>
      </div>
    </form>
  );
}
