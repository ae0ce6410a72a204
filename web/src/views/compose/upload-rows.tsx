/** Files of a text: those on their way to the server, with what has arrived of them, and those that it links. */

import { useRef } from "preact/hooks";
import { i18n } from "../../i18n";
import { Icon } from "../../ui/icons";
import { shownSize } from "../../ui/size";
import { toast } from "../../ui/toast";
import { type Attachment, attachmentsOf, removal } from "./attachments";
import type { TextBox } from "./textarea";
import { type Upload, uploadsOf } from "./upload-list";
import { cancelUpload, retryUpload } from "./uploads";

export default function UploadRows({ box, text = "" }: { box: TextBox; text?: string }) {
  const attached = attachmentsOf(text);
  const list = useRef<HTMLUListElement>(null);
  const under = uploadsOf(box);
  const remove = ({ link, name }: Attachment, index: number) => {
    box.apply(removal(text, link));
    toast(i18n.t("{name} was removed.", { name }));
    // The focus stays in the list while there is something in it.
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll<HTMLElement>(".attachment button");
      (buttons?.[Math.min(index, buttons.length - 1)] ?? box.element)?.focus();
    });
  };
  return (
    <>
      {under.length ? (
        <ul class="uploads" aria-label={i18n.t("Files being uploaded")}>
          {under.map((upload) => (
            <Row key={upload.id} upload={upload} />
          ))}
        </ul>
      ) : null}
      {attached.length ? (
        <ul class="attachments" aria-label={i18n.t("Attached files")} ref={list}>
          {attached.map((each, index) => (
            <li key={each.url} class="attachment">
              <Icon name="attach" />
              <a href={each.url} target="_blank" rel="noopener" title={each.name}><bdi>{each.name}</bdi></a>
              <button type="button" class="bare" aria-label={i18n.t("Remove {name}", { name: each.name })} title={i18n.t("Remove")} onClick={() => remove(each, index)}>
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </>
  );
}

function Row({ upload }: { upload: Upload }) {
  const { id, name, progress, size, state: now, problem } = upload;
  return (
    <li class={`upload ${now}`}>
      <Icon name="attach" />
      <span class="upload-name">{name}</span>
      <span class="muted">{shownSize(size)}</span>
      {now === "failed" ? (
        <span class="upload-problem" role="alert">{problem}</span>
      ) : (
        <progress value={progress} max={1} aria-label={i18n.t("Upload of {name}", { name })} />
      )}
      {now === "waiting" ? <span class="muted">{i18n.t("Waiting for the connection")}</span> : null}
      {now === "failed" ? (
        <button type="button" onClick={() => retryUpload(id)}>{i18n.t("Try again")}</button>
      ) : null}
      <button type="button" class="bare" aria-label={i18n.t("Cancel the upload of {name}", { name })} title={i18n.t("Cancel")} onClick={() => cancelUpload(id)}>
        <Icon name="close" />
      </button>
    </li>
  );
}
