import { useLayoutEffect, useRef } from "preact/hooks";
import { enhance } from "./message-enhance";
import { messageHtml } from "./trusted";

/** The rendered HTML of a message. The only place where HTML of the server enters the page. */
export function MessageHtml({ html }: { html: string }) {
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!body.current) return;
    body.current.innerHTML = messageHtml(html) as unknown as string;
    enhance(body.current);
  }, [html]);
  return <div class="message-body" ref={body} />;
}
