import { effect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { showsEmojiAsText } from "./emoji-set";
import { enhance, refresh } from "./message-enhance";
import { messageHtml } from "./trusted";
import { watch, watchedVersion } from "./watch";

/** The rendered HTML of a message. The only place where HTML of the server enters the page. */
export function MessageHtml({ html }: { html: string }) {
  watch("settings");
  const isText = showsEmojiAsText();
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!body.current) return;
    body.current.innerHTML = messageHtml(html) as unknown as string;
    enhance(body.current);
  }, [html, isText]);
  return <div class="message-body" ref={body} />;
}

// Bodies stay as they were put in: what they show of the state follows its changes here.
effect(() => {
  watchedVersion("bodies");
  for (const body of document.querySelectorAll<HTMLElement>(".message-body")) refresh(body);
});
