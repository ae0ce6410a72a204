import { describe, expect, it } from "vitest";
import type { Message } from "../src/model/state";
import { arrange, type Arrangement } from "../src/views/feed/arrange";

let nextId = 1;
const message = (given: Partial<Message>): Message =>
  ({ id: nextId++, type: "stream", stream_id: 1, subject: "lunch", sender_id: 10, timestamp: 1000, is_me_message: false, ...given }) as Message;

const given: Arrangement = {
  isCombined: false,
  firstUnread: undefined,
  mutedUsers: new Set(),
  dayOf: (timestamp) => String(Math.floor(timestamp / 86_400)),
};
const continued = (messages: Message[], more: Partial<Arrangement> = {}) =>
  arrange(messages, undefined, { ...given, ...more }).map((row) => row.isContinued);

describe("messages of one sender", () => {
  it("are shown together", () => {
    expect(continued([message({}), message({}), message({ sender_id: 11 })])).toEqual([false, true, false]);
    expect(arrange([message({})], message({}), given)[0]!.isContinued).toBe(true);
    expect(continued([message({}), message({ subject: "Lunch" })])).toEqual([false, true]);
  });

  it("are apart after a while, across days, topics and actions", () => {
    expect(continued([message({}), message({ timestamp: 1601 })])).toEqual([false, false]);
    expect(continued([message({ timestamp: 86_399 }), message({ timestamp: 86_401 })])).toEqual([false, false]);
    expect(continued([message({}), message({ subject: "dinner" })])).toEqual([false, false]);
    expect(continued([message({}), message({ is_me_message: true }), message({})])).toEqual([false, false, false]);
  });

  it("are apart where what is unread begins", () => {
    const [one, other] = [message({}), message({})];
    expect(continued([one, other], { firstUnread: other.id })).toEqual([false, false]);
  });
});

describe("recipient bars", () => {
  const bars = (messages: Message[], isCombined = true) =>
    arrange(messages, undefined, { ...given, isCombined }).map((row) => row.hasBar);
  const people = (...ids: number[]) => ids.map((id) => ({ id, full_name: "", email: "" }));

  it("stand where the conversation changes, and at each day", () => {
    expect(bars([message({}), message({}), message({ subject: "b" }), message({ stream_id: 2 })])).toEqual([true, false, true, true]);
    expect(bars([message({}), message({ timestamp: 90_000 })])).toEqual([true, true]);
    expect(bars([message({}), message({ timestamp: 90_000 })], false)).toEqual([false, false]);
  });

  it("take the people of a direct conversation in any order", () => {
    const direct = (...ids: number[]) => message({ type: "private", display_recipient: people(...ids) });
    expect(bars([direct(1, 2), direct(2, 1), direct(1, 2, 3)])).toEqual([true, false, true]);
  });
});
