import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import type { Message } from "../../model/state";
import { ApiError, get, patch } from "../../protocol/client";
import { confirm } from "../../ui/dialog";
import { attempt } from "../../ui/toast";
import { editing } from "./actions";

/** SHA-256 in hexadecimal; undefined without a secure context, where browsers offer none. */
async function sha256(text: string): Promise<string | undefined> {
  if (!globalThis.crypto?.subtle) return undefined;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function sourceOf(id: number): Promise<string> {
  const { message } = await get<{ message: { content: string } }>(`/messages/${id}`, {
    apply_markdown: false,
    allow_empty_topic_name: true,
  });
  return message.content;
}

/** Texts that were being edited when a message left the page. */
const drafts = new Map<number, { original: string; text: string }>();

/** Edit a message in its place. */
export function MessageEditor({ message }: { message: Message }) {
  const [original, setOriginal] = useState<string | undefined>(drafts.get(message.id)?.original);
  const [text, setText] = useState(drafts.get(message.id)?.text ?? "");
  const [problem, setProblem] = useState("");
  const [isSaving, setSaving] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const limit = Number(state().fields.max_message_length ?? 10_000);

  const close = () => {
    drafts.delete(message.id);
    const article = area.current?.closest<HTMLElement>("[data-message-id]");
    editing.value = undefined;
    article?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (original !== undefined) return;
    void attempt(async () => {
      const content = await sourceOf(message.id);
      setOriginal(content);
      setText(content);
    }).then((isFetched) => {
      if (!isFetched) editing.value = undefined;
    });
  }, []);
  useLayoutEffect(() => {
    if (original === undefined) return;
    area.current?.focus();
    area.current?.setSelectionRange(text.length, text.length);
  }, [original]);
  useLayoutEffect(() => {
    if (original !== undefined && text !== original) drafts.set(message.id, { original, text });
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, innerHeight / 2)}px`;
  }, [text]);

  const cancel = async () => {
    const isKept = text === original;
    const isSure =
      isKept ||
      (await confirm({
        title: i18n.t("Discard your changes?"),
        text: i18n.t("The message stays as it was."),
        action: i18n.t("Discard"),
        isDangerous: true,
      }));
    if (isSure) close();
  };
  const save = async () => {
    if (isSaving || original === undefined) return;
    if (text === original) return close();
    setSaving(true);
    setProblem("");
    try {
      await patch(`/messages/${message.id}`, { content: text, prev_content_sha256: await sha256(original) });
      close();
    } catch (error) {
      if (error instanceof ApiError && error.code === "EXPECTATION_MISMATCH") {
        setProblem(i18n.t("The message was changed elsewhere meanwhile. Save again to replace it by your text, or cancel."));
        setOriginal(await sourceOf(message.id).catch(() => original));
      } else setProblem((error as Error).message);
    } finally {
      setSaving(false);
    }
  };
  if (original === undefined) return <p class="message-loading">{i18n.t("Loading the text")}</p>;
  const isLong = [...text].length > limit;
  return (
    <form
      class="message-editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        ref={area}
        aria-label={i18n.t("Edit message")}
        dir="auto"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          const isSubmit = event.key === "Enter" && (event.ctrlKey || event.metaKey || (state().settings.enter_sends === true && !event.shiftKey));
          if (event.key === "Escape") void cancel();
          else if (isSubmit) void save();
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      {isLong ? <p class="problem" role="alert">{i18n.t("A message has at most {limit} characters.", { limit })}</p> : null}
      {problem ? <p class="problem" role="alert">{problem}</p> : null}
      <div class="editor-buttons">
        <button type="submit" class="primary" aria-disabled={isSaving || isLong}>{i18n.t("Save")}</button>
        <button type="button" onClick={() => void cancel()}>{i18n.t("Cancel")}</button>
      </div>
    </form>
  );
}
