import { useState } from "preact/hooks";
import { outbox, state } from "../../app";
import { i18n } from "../../i18n";
import { narrowOfMessage } from "../../model/message-narrow";
import { listed, userName } from "../../model/names";
import { conversationOf } from "../../model/narrow";
import type { Message } from "../../model/state";
import { type Choices, nextIndex, type Poll, type PollOption, type Task, type TaskList, widgetOf } from "../../model/widgets";
import { post } from "../../protocol/client";
import { MessageHtml } from "../../ui/message-html";
import { attempt } from "../../ui/toast";
import { watch } from "../../ui/watch";

/** A poll or a task list; the message's text where it is neither. */
export function Widget({ message }: { message: Message }) {
  watch(`message:${message.id}`);
  const widget = widgetOf(message);
  if (widget?.kind === "poll") return <PollWidget message={message} poll={widget} />;
  if (widget?.kind === "todo") return <TaskListWidget message={message} list={widget} />;
  if (widget?.kind === "choices") return <ChoicesWidget message={message} widget={widget} />;
  return <MessageHtml html={message.content} />;
}

/** Answers to choose from: the chosen one is sent to the conversation. */
function ChoicesWidget({ message, widget }: { message: Message; widget: Choices }) {
  const choose = (reply: string) => outbox.send({ to: conversationOf(narrowOfMessage(state(), message))!, content: reply });
  return (
    <section class="widget" aria-label={i18n.t("Choices")}>
      <p class="widget-title"><strong dir="auto">{widget.heading}</strong></p>
      <ul class="choices">
        {widget.choices.map((each, index) => (
          <li key={index}>
            <button type="button" title={i18n.t("Send {text}", { text: each.reply })} onClick={() => choose(each.reply)}>
              <bdi>{each.name || each.text}</bdi>
            </button>
            {each.name ? <span dir="auto">{each.text}</span> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

function send(message: Message, content: object): Promise<boolean> {
  return attempt(() => post("/submessage", { message_id: message.id, msg_type: "widget", content: JSON.stringify(content) }));
}

function isAuthor(message: Message): boolean {
  return message.sender_id === state().userId;
}

function PollWidget({ message, poll }: { message: Message; poll: Poll }) {
  const most = Math.max(1, ...poll.options.map((each) => each.voters.length));
  return (
    <section class="widget" aria-label={i18n.t("Poll")}>
      <WidgetTitle
        text={poll.question || i18n.t("Poll without a question")}
        value={poll.question}
        label={i18n.t("Question")}
        onSave={isAuthor(message) ? (question) => send(message, { type: "question", question }) : undefined}
      />
      <ul class="poll">
        {poll.options.map((option) => (
          <PollRow key={option.key} message={message} option={option} share={option.voters.length / most} />
        ))}
      </ul>
      <AddRow
        label={i18n.t("New option")}
        onAdd={(option) =>
          send(message, { type: "new_option", option, idx: nextIndex(message, state().userId) })
        }
      />
    </section>
  );
}

function PollRow({ message, option, share }: { message: Message; option: PollOption; share: number }) {
  const { userId } = state();
  const isChosen = option.voters.includes(userId);
  const count = option.voters.length;
  return (
    <li class="poll-option" ref={(row) => row?.style.setProperty("--share", `${share * 100}%`)}>
      <button
        type="button"
        class="poll-vote"
        aria-pressed={isChosen}
        aria-label={i18n.t("{option}, {count, plural, one {# vote} other {# votes}}", { option: option.text, count })}
        onClick={() => void send(message, { type: "vote", key: option.key, vote: isChosen ? -1 : 1 })}
      >
        <span class="poll-text" dir="auto">{option.text}</span>{" "}
        <span class="poll-count">{count}</span>
      </button>
      {count ? <p class="poll-voters">{listed(option.voters.map((id) => userName(state(), id)))}</p> : null}
    </li>
  );
}

function TaskListWidget({ message, list }: { message: Message; list: TaskList }) {
  return (
    <section class="widget" aria-label={i18n.t("Task list")}>
      <WidgetTitle
        text={list.title || i18n.t("Task list")}
        value={list.title}
        label={i18n.t("Title")}
        onSave={isAuthor(message) ? (title) => send(message, { type: "new_task_list_title", title }) : undefined}
      />
      <ul class="tasks">
        {list.tasks.map((task) => (
          <TaskRow key={task.key} message={message} task={task} />
        ))}
      </ul>
      <AddRow
        label={i18n.t("New task")}
        onAdd={(task) =>
          send(message, { type: "new_task", key: nextIndex(message, state().userId), task, desc: "", completed: false })
        }
      />
    </section>
  );
}

function TaskRow({ message, task }: { message: Message; task: Task }) {
  return (
    <li>
      <label class={task.isDone ? "task is-done" : "task"}>
        <input
          type="checkbox"
          checked={task.isDone}
          onChange={(event) => {
            event.currentTarget.checked = task.isDone;
            void send(message, { type: "strike", key: task.key });
          }}
        />
        <span dir="auto">
          <strong>{task.text}</strong>
          {task.description ? <span class="task-description"> {task.description}</span> : null}
        </span>
      </label>
    </li>
  );
}

interface WidgetTitleProps {
  text: string;
  value: string;
  label: string;
  onSave: ((text: string) => Promise<boolean>) | undefined;
}

function WidgetTitle({ text, value, label, onSave }: WidgetTitleProps) {
  const [draft, setDraft] = useState<string>();
  if (draft === undefined) {
    return (
      <p class="widget-title">
        <strong dir="auto">{text}</strong>
        {onSave ? <button type="button" class="icon-button" data-icon="edit" aria-label={i18n.t("Edit {label}", { label })} onClick={() => setDraft(value)} /> : null}
      </p>
    );
  }
  const save = async () => {
    if (draft.trim() && (await onSave!(draft.trim()))) setDraft(undefined);
  };
  return (
    <form
      class="widget-form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input aria-label={label} value={draft} dir="auto" ref={focusOnce} onInput={(event) => setDraft(event.currentTarget.value)} />
      <button type="submit">{i18n.t("Save")}</button>
      <button type="button" onClick={() => setDraft(undefined)}>{i18n.t("Cancel")}</button>
    </form>
  );
}

function focusOnce(input: HTMLInputElement | null): void {
  input?.focus();
}

function AddRow({ label, onAdd }: { label: string; onAdd: (text: string) => Promise<boolean> }) {
  const [text, setText] = useState("");
  const add = async () => {
    const wanted = text.trim();
    if (wanted && (await onAdd(wanted))) setText("");
  };
  return (
    <form
      class="widget-form"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <input aria-label={label} placeholder={label} value={text} dir="auto" onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" aria-disabled={!text.trim()}>{i18n.t("Add")}</button>
    </form>
  );
}
