/** Polls, task lists and choices, as their submessages make them. */

import type { Message } from "./state";

export interface PollOption {
  key: string;
  text: string;
  voters: number[];
}

export interface Poll {
  kind: "poll";
  question: string;
  options: PollOption[];
}

export interface Task {
  key: string;
  text: string;
  description: string;
  isDone: boolean;
}

export interface TaskList {
  kind: "todo";
  title: string;
  tasks: Task[];
}

export interface Choice {
  name: string;
  text: string;
  /** The message that is sent if it is chosen. */
  reply: string;
}

/** A bot's question with answers to choose from, which are sent as messages. */
export interface Choices {
  kind: "choices";
  heading: string;
  choices: Choice[];
}

/** What somebody has sent: nothing is known about its fields. */
type Data = Record<string, unknown>;

function parsed(text: string): Data | undefined {
  try {
    const data: unknown = JSON.parse(text);
    return isData(data) ? data : undefined;
  } catch {
    return undefined;
  }
}

function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null;
}

function itemsOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Return the widget of a message; undefined if it has none that is known. */
export function widgetOf(message: Message): Poll | TaskList | Choices | undefined {
  const [first, ...others] = [...message.submessages].sort((one, other) => one.id - other.id);
  const begun = first && parsed(first.content);
  const changes = others.map((each) => ({ sender: each.sender_id, data: parsed(each.content) }));
  const given = isData(begun?.extra_data) ? begun.extra_data : {};
  if (begun?.widget_type === "poll") return pollOf(given, changes, message.sender_id);
  if (begun?.widget_type === "todo") return listOf(given, changes, message.sender_id);
  if (begun?.widget_type === "zform") return choicesOf(given);
  return undefined;
}

function choicesOf(given: Data): Choices | undefined {
  if (given.type !== "choices") return undefined;
  const choices = itemsOf(given.choices)
    .filter(isData)
    .filter((each) => typeof each.reply === "string" && each.reply.trim())
    .map((each) => ({ name: String(each.short_name ?? ""), text: String(each.long_name ?? ""), reply: String(each.reply) }));
  return { kind: "choices", heading: String(given.heading ?? ""), choices };
}

interface Change {
  sender: number;
  data: Data | undefined;
}

function pollOf(given: Data, changes: readonly Change[], author: number): Poll {
  const poll: Poll = {
    kind: "poll",
    question: String(given.question ?? ""),
    options: itemsOf(given.options).map((text, index) => ({ key: `canned,${index}`, text: String(text), voters: [] })),
  };
  for (const { sender, data } of changes) {
    if (data?.type === "question" && sender === author) poll.question = String(data.question);
    else if (data?.type === "new_option") {
      const key = `${sender},${data.idx}`;
      const isKnown = poll.options.some((each) => each.key === key || each.text === data.option);
      if (!isKnown) poll.options.push({ key, text: String(data.option), voters: [] });
    } else if (data?.type === "vote") {
      const option = poll.options.find((each) => each.key === data.key);
      if (!option) continue;
      option.voters = option.voters.filter((id) => id !== sender);
      if (data.vote === 1) option.voters.push(sender);
    }
  }
  return poll;
}

function listOf(given: Data, changes: readonly Change[], author: number): TaskList {
  const tasks = itemsOf(given.tasks).filter(isData);
  const list: TaskList = {
    kind: "todo",
    title: String(given.task_list_title ?? ""),
    tasks: tasks.map((each, index) => ({
      key: `${index},canned`,
      text: String(each.task),
      description: String(each.desc ?? ""),
      isDone: false,
    })),
  };
  for (const { sender, data } of changes) {
    if (data?.type === "new_task_list_title" && sender === author) list.title = String(data.title);
    else if (data?.type === "new_task") {
      const key = `${data.key},${sender}`;
      const isKnown = list.tasks.some((each) => each.key === key || each.text === data.task);
      if (!isKnown) list.tasks.push({ key, text: String(data.task), description: String(data.desc), isDone: data.completed === true });
    } else if (data?.type === "strike") {
      const task = list.tasks.find((each) => each.key === data.key);
      if (task) task.isDone = !task.isDone;
    }
  }
  return list;
}

/** Return a number for a new option or task of a person that no earlier one of theirs has. */
export function nextIndex(message: Message, userId: number): number {
  let next = 1;
  for (const { sender_id, content } of message.submessages) {
    const data = sender_id === userId ? parsed(content) : undefined;
    const used = data?.type === "new_option" ? data.idx : data?.type === "new_task" ? data.key : 0;
    if (typeof used === "number" && Number.isInteger(used) && used >= next) next = used + 1;
  }
  return next;
}
