/** Files on their way to the server, with what has arrived of them. */

import { i18n } from "../../i18n";
import { Icon } from "../../ui/icons";
import { shownSize } from "../../ui/size";
import type { TextBox } from "./textarea";
import { type Upload, uploadsOf } from "./upload-list";
import { cancelUpload, retryUpload } from "./uploads";

export default function UploadRows({ box }: { box: TextBox }) {
  return (
    <ul class="uploads" aria-label={i18n.t("Files being uploaded")}>
      {uploadsOf(box).map((upload) => (
        <Row key={upload.id} upload={upload} />
      ))}
    </ul>
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
