import { describe, expect, it } from "vitest";
import type { Message } from "../src/model/state";
import { nextIndex, widgetOf } from "../src/model/widgets";

const AUTHOR = 1;
const OTHER = 2;

function message(first: object, ...changes: [number, object][]): Message {
  const all: [number, object][] = [[AUTHOR, first], ...changes];
  return {
    id: 5,
    sender_id: AUTHOR,
    submessages: all.map(([sender_id, data], index) => ({ id: index, sender_id, message_id: 5, msg_type: "widget", content: JSON.stringify(data) })),
  } as Message;
}

const POLL = { widget_type: "poll", extra_data: { question: "Lunch?", options: ["Soup", "Salad"] } };
const TODO = { widget_type: "todo", extra_data: { task_list_title: "Move", tasks: [{ task: "pack", desc: "all" }] } };
const vote = (key: string, value: 1 | -1) => ({ type: "vote", key, vote: value });

describe("polls", () => {
  it("count one vote of each person", () => {
    const poll = widgetOf(message(POLL, [OTHER, vote("canned,0", 1)], [OTHER, vote("canned,0", 1)], [AUTHOR, vote("canned,1", 1)]));
    expect(poll).toMatchObject({ question: "Lunch?", options: [{ text: "Soup", voters: [OTHER] }, { text: "Salad", voters: [AUTHOR] }] });
  });

  it("take votes back", () => {
    const poll = widgetOf(message(POLL, [OTHER, vote("canned,0", 1)], [OTHER, vote("canned,0", -1)]));
    expect(poll).toMatchObject({ options: [{ voters: [] }, { voters: [] }] });
  });

  it("get options by all, each once, and questions by the author alone", () => {
    const option = (text: string, idx: number) => ({ type: "new_option", option: text, idx });
    const poll = widgetOf(
      message(
        POLL,
        [OTHER, option("Bread", 1)],
        [AUTHOR, option("Bread", 1)],
        [OTHER, { type: "question", question: "Mine?" }],
        [AUTHOR, { type: "question", question: "Dinner?" }],
        [AUTHOR, vote("2,1", 1)],
      ),
    );
    expect(poll).toMatchObject({ question: "Dinner?", options: [{}, {}, { key: "2,1", text: "Bread", voters: [AUTHOR] }] });
    expect(poll).toHaveProperty("options.length", 3);
  });

  it("ignore what they do not know", () => {
    expect(widgetOf(message(POLL, [OTHER, vote("canned,9", 1)], [OTHER, { type: "other" }]))).toMatchObject({ options: [{ voters: [] }, { voters: [] }] });
    expect(widgetOf(message({ widget_type: "game" }))).toBeUndefined();
    expect(widgetOf({ ...message(POLL), submessages: [] })).toBeUndefined();
  });
});

describe("task lists", () => {
  it("mark tasks as done, and not done again", () => {
    const strike = { type: "strike", key: "0,canned" };
    expect(widgetOf(message(TODO, [OTHER, strike]))).toMatchObject({ tasks: [{ text: "pack", description: "all", isDone: true }] });
    expect(widgetOf(message(TODO, [OTHER, strike], [AUTHOR, strike]))).toMatchObject({ tasks: [{ isDone: false }] });
  });

  it("get tasks by all", () => {
    const task = { type: "new_task", key: 3, task: "call", desc: "", completed: false };
    expect(widgetOf(message(TODO, [OTHER, task], [AUTHOR, { type: "strike", key: "3,2" }]))).toMatchObject({
      title: "Move",
      tasks: [{}, { key: "3,2", text: "call", isDone: true }],
    });
  });
});

it("a new option has a number of its own", () => {
  const option = (idx: number) => ({ type: "new_option", option: `o${idx}`, idx });
  expect(nextIndex(message(POLL), OTHER)).toBe(1);
  expect(nextIndex(message(POLL, [OTHER, option(4)], [AUTHOR, option(9)]), OTHER)).toBe(5);
});

describe("choices", () => {
  const choice = (short_name: unknown, reply: unknown) => ({ type: "multiple_choice", short_name, long_name: "All", reply });
  const form = (extra_data: object) => message({ widget_type: "zform", extra_data });

  it("are offered with what they send", () => {
    const shown = widgetOf(form({ type: "choices", heading: "Much?", choices: [choice("A", "all")] }));
    expect(shown).toEqual({ kind: "choices", heading: "Much?", choices: [{ name: "A", text: "All", reply: "all" }] });
  });

  it("are left out if there is nothing to send", () => {
    const shown = widgetOf(form({ type: "choices", choices: [choice("A", " "), choice("B", 7), 3, choice(undefined, "b")] }));
    expect(shown).toEqual({ kind: "choices", heading: "", choices: [{ name: "", text: "All", reply: "b" }] });
  });

  it("are of one type", () => {
    expect(widgetOf(form({ type: "slider", choices: [] }))).toBeUndefined();
  });
});
