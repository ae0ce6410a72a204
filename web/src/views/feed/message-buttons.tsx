import { useLayoutEffect, useRef } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { userName } from "../../model/names";
import type { Message } from "../../model/state";
import type { ShownButton } from "../../protocol/types";
import { confirm } from "../../ui/dialog";
import { MessageHtml } from "../../ui/message-html";
import { watch } from "../../ui/watch";
import { click, clicks, closeAnswer } from "./button-clicks";

/** The buttons of a bot's message, and what the bot has answered to the user alone. */
export function MessageButtons({ message }: { message: Message }) {
  watch(`message:${message.id}`, "users");
  const frame = useRef<HTMLDivElement>(null);
  const name = userName(state(), message.sender_id);
  const now = clicks.value.get(message.id);
  const buttons = message.buttons ?? [];
  // Asked while what has the focus is still there: the bot may take the button away.
  const hasFocus = frame.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (hasFocus && document.activeElement === document.body) frame.current?.closest<HTMLElement>("[data-message-id]")?.focus();
  });
  return (
    <div class="message-buttons" ref={frame}>
      {buttons.length ? (
        <div role="group" class="button-row" aria-label={i18n.t("Buttons of {name}", { name })}>
          {buttons.map((button) => (
            <MessageButton key={button.id} message={message} button={button} waiting={now?.waiting} />
          ))}
        </div>
      ) : null}
      <div role="status" class="button-status">
        {now?.waiting ? <p class="button-waiting">{i18n.t("Waiting for {name} …", { name })}</p> : null}
        {now?.problem ? <p class="button-problem">{now.problem}</p> : null}
        {now?.answer ? (
          <div class={now.answer.is_error ? "button-answer is-error" : "button-answer"}>
            <p class="button-answer-head">
              <strong><bdi>{userName(state(), now.answer.bot_id)}</bdi></strong> · {i18n.t("Only you see this")}
              <button type="button" class="icon-button" data-icon="close" aria-label={i18n.t("Close the notice")} onClick={() => closeAnswer(message.id)} />
            </p>
            <MessageHtml html={now.answer.rendered_content} />
          </div>
        ) : null}
      </div>
    </div>
  );
}

function MessageButton({ message, button, waiting }: { message: Message; button: ShownButton; waiting: string | undefined }) {
  const press = async () => {
    if (waiting) return;
    const { confirm: question, label, style } = button;
    const isSure =
      !question ||
      (await confirm({
        title: question.title || i18n.t("Are you sure?"),
        text: question.text ?? "",
        action: question.confirm || label,
        isDangerous: style === "danger",
        ...(question.deny ? { cancel: question.deny } : {}),
      }));
    if (isSure) await click(state(), message, button);
  };
  const looks = ["message-button"];
  if (button.style !== "default") looks.push(button.style);
  if (waiting === button.id) looks.push("is-waiting");
  return (
    <button
      type="button"
      class={looks.join(" ")}
      aria-disabled={waiting !== undefined}
      onClick={() => void press()}
    >
      <bdi>{button.label}</bdi>
    </button>
  );
}
