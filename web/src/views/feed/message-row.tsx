import { memo } from "../../ui/memo";
import type { Message } from "../../model/state";
import { MessageHtml } from "../../ui/message-html";
import { watch } from "../../ui/watch";

/** One message. */
export const MessageRow = memo(({ message }: { message: Message }) => {
  watch(`message:${message.id}`);
  const time = new Date(message.timestamp * 1000);
  return (
    <article class="message" data-message-id={message.id} aria-label={message.sender_full_name} tabIndex={-1}>
      <header>
        <strong>{message.sender_full_name}</strong>{" "}
        <time dateTime={time.toISOString()}>{time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}</time>
      </header>
      <MessageHtml html={message.content} />
    </article>
  );
});
