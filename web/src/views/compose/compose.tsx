import { useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { conversationOf } from "../../model/narrow";
import { post } from "../../protocol/client";
import { ground } from "../../router";

/** Write to the conversation that is shown. */
export function Compose() {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const here = ground.value;
  const to = here.kind === "narrow" ? conversationOf(here.narrow) : undefined;
  const cannot = !to ? i18n.t("Choose a conversation first.") : text.trim() ? "" : i18n.t("Write something first.");
  const send = async () => {
    if (!to || !text.trim()) return;
    setText("");
    setProblem("");
    try {
      await post("/messages", {
        content: text,
        ...(to.kind === "topic"
          ? { type: "channel", to: to.channelId, topic: to.topic }
          : { type: "direct", to: to.userIds }),
      });
    } catch (error) {
      setText(text);
      setProblem((error as Error).message);
    }
  };
  return (
    <section class="compose" aria-label="Compose">
      <textarea
        aria-label="Message"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            void send();
          }
        }}
      />
      <button type="button" class="primary" aria-disabled={Boolean(cannot)} title={cannot || undefined} onClick={() => void send()}>
        {i18n.t("Send")}
      </button>
      {problem ? <p role="alert">{problem}</p> : null}
    </section>
  );
}
