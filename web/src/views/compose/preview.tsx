/** The message as the server renders it. */

import { useEffect, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { post } from "../../protocol/client";
import { MessageHtml } from "../../ui/message-html";

export function Preview({ text }: { text: string }) {
  const [rendered, setRendered] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (!text.trim()) {
      setRendered("");
      return undefined;
    }
    const abort = new AbortController();
    post<{ rendered: string }>("/messages/render", { content: text }, { signal: abort.signal }).then(
      (answer) => {
        setRendered(answer.rendered);
        setProblem("");
      },
      (error: Error) => abort.signal.aborted || setProblem(error.message),
    );
    return () => abort.abort();
  }, [text]);
  return (
    <div class="compose-preview" role="region" aria-label={i18n.t("Preview of the message")} aria-busy={rendered === undefined && !problem} tabIndex={0}>
      {problem ? <p role="alert">{problem}</p> : null}
      {rendered === "" ? <p class="muted">{i18n.t("Nothing to preview.")}</p> : null}
      {rendered ? <MessageHtml html={rendered} /> : null}
    </div>
  );
}
