/** Saved snippets: insert, save, edit and delete texts that are used often. */

import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { best, fold } from "../../model/names-index";
import type { Snippet } from "../../model/state";
import { del, patch, post } from "../../protocol/client";
import { confirm, Dialog } from "../../ui/dialog";
import { Problem } from "../../ui/problem";
import { Icon } from "../../ui/icons";
import { LimitedText } from "../../ui/limited-text";
import { watch } from "../../ui/watch";
import { composeBox } from "./compose-box";
import { content } from "./composition";
import { insertion } from "./formatting";

const MAX_TITLE_LENGTH = 60;

type Shown = { kind: "list" } | { kind: "edit"; snippet: Snippet | undefined };

export default function SnippetsDialog({ onClose }: { onClose: () => Promise<void> }) {
  const [shown, setShown] = useState<Shown>({ kind: "list" });
  if (shown.kind === "edit") {
    return <EditSnippet snippet={shown.snippet} onDone={() => setShown({ kind: "list" })} />;
  }
  return <SnippetList onClose={onClose} onEdit={(snippet) => setShown({ kind: "edit", snippet })} />;
}

function SnippetList({ onClose, onEdit }: { onClose: () => Promise<void>; onEdit: (snippet: Snippet | undefined) => void }) {
  watch("snippets");
  const [query, setQuery] = useState("");
  const [problem, setProblem] = useState("");
  const all = [...state().snippets.values()];
  const entries = all.map((item) => ({ item, folded: fold(item.title), also: fold(item.content) }));
  const found = best(entries, fold(query.trim()), all.length, () => 0);
  const insert = async ({ content: text }: Snippet) => {
    await onClose();
    const { text: before, start, end } = composeBox.selection();
    composeBox.apply(insertion(before, start, end, text));
  };
  const remove = async (snippet: Snippet) => {
    const isSure = await confirm({
      title: i18n.t("Delete saved snippet"),
      text: i18n.t("“{title}” will be gone for good.", { title: snippet.title }),
      action: i18n.t("Delete"),
      isDangerous: true,
    });
    if (!isSure) return;
    try {
      await del(`/saved_snippets/${snippet.id}`);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <Dialog
      title={i18n.t("Saved snippets")}
      onClose={() => void onClose()}
      footer={
        <button type="button" class="primary" onClick={() => onEdit(undefined)}>
          {i18n.t("New snippet")}
        </button>
      }
    >
      {all.length > 5 ? (
        <input type="search" aria-label={i18n.t("Search snippets")} placeholder={i18n.t("Search snippets")} value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
      ) : null}
      {all.length ? null : <p class="muted">{i18n.t("Save a text that you write often, and insert it from here.")}</p>}
      <ul class="snippets">
        {found.map((snippet, index) => (
          <li key={snippet.id}>
            <button type="button" class="snippet" data-autofocus={index ? undefined : true} onClick={() => void insert(snippet)}>
              <strong>{snippet.title}</strong>
              <span class="muted">{snippet.content}</span>
            </button>
            <button type="button" class="bare" aria-label={i18n.t("Edit {title}", { title: snippet.title })} onClick={() => onEdit(snippet)}>
              <Icon name="edit" />
            </button>
            <button type="button" class="bare" aria-label={i18n.t("Delete {title}", { title: snippet.title })} onClick={() => void remove(snippet)}>
              <Icon name="trash" />
            </button>
          </li>
        ))}
      </ul>
      <Problem text={problem} clear={setProblem} />
    </Dialog>
  );
}

function EditSnippet({ snippet, onDone }: { snippet: Snippet | undefined; onDone: () => void }) {
  const [title, setTitle] = useState(snippet?.title ?? "");
  const [text, setText] = useState(snippet?.content ?? content.peek());
  const [problem, setProblem] = useState("");
  const save = async () => {
    try {
      const params = { title: title.trim(), content: text };
      if (snippet) await patch(`/saved_snippets/${snippet.id}`, params);
      else await post("/saved_snippets", params);
      onDone();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const isComplete = title.trim() !== "" && text.trim() !== "";
  return (
    <Dialog
      title={snippet ? i18n.t("Edit saved snippet") : i18n.t("New saved snippet")}
      onClose={onDone}
      footer={
        <>
          <button type="button" onClick={onDone}>{i18n.t("Cancel")}</button>
          <button type="button" class="primary" aria-disabled={!isComplete} onClick={() => isComplete && void save()}>
            {i18n.t("Save")}
          </button>
        </>
      }
    >
      <label class="field">
        <span>{i18n.t("Title")}</span>
        <LimitedText data-autofocus max={MAX_TITLE_LENGTH} value={title} onText={setTitle} />
      </label>
      <label class="field">
        <span>{i18n.t("Text")}</span>
        <textarea rows={6} dir="auto" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <Problem text={problem} clear={setProblem} />
    </Dialog>
  );
}
