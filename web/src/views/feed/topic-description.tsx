import { useMemo, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { MessageHtml } from "../../ui/message-html";
import { parseHtml } from "../../ui/trusted";

/** The description of a topic: one line without its formatting, or all of it. */
export default function TopicDescription({ html }: { html: string }) {
  const [isOpen, setOpen] = useState(false);
  const text = useMemo(() => parseHtml(html).body.textContent.trim(), [html]);
  const label = i18n.t("Whole description");
  return (
    <section class="topic-description" aria-label={i18n.t("Description of the topic")}>
      {isOpen ? (
        // Focusable, so that keys scroll what is longer than its frame.
        <div dir="auto" tabIndex={0}>
          <MessageHtml html={html} />
        </div>
      ) : (
        <p dir="auto">{text}</p>
      )}
      <button type="button" class="icon-button" data-icon="chevron" aria-expanded={isOpen} aria-label={label} title={label} onClick={() => setOpen(!isOpen)} />
    </section>
  );
}
