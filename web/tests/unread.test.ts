import { expect, test } from "vitest";
import { settleMentions } from "../src/model/reducers/messages";
import { Policy } from "../src/model/state";
import { Unread } from "../src/model/unread";
import { aModel } from "./fakes";

const TOPIC = { kind: "topic", channelId: 4, topic: "Plans" } as const;

test("counts are by conversation, and a message is counted once", () => {
  const unread = Unread.of(
    {
      streams: [{ stream_id: 4, topic: "Plans", unread_message_ids: [1, 2] }],
      pms: [{ other_user_id: 9, unread_message_ids: [3] }],
      huddles: [{ user_ids_string: "5,9,10", unread_message_ids: [4] }],
      mentions: [2],
      old_unreads_missing: false,
    },
    5,
  );
  unread.add(2, TOPIC);
  expect(unread.total).toBe(4);
  expect([...unread.inTopic(4, "pLANS")]).toEqual([1, 2]);
  expect([...unread.directs.values()].map((ids) => ids.size)).toEqual([1, 1]);
  expect([...unread.mentions]).toEqual([2]);
});

test("a message that moves is counted where it is now, and still mentions", () => {
  const unread = new Unread();
  unread.add(1, TOPIC);
  unread.mentions.add(1);
  unread.add(1, { ...TOPIC, topic: "" });
  expect(unread.inTopic(4, "Plans").size).toBe(0);
  expect([...unread.inTopic(4, "")]).toEqual([1]);
  expect(unread.mentions.has(1)).toBe(true);
});

test("what is read leaves no empty conversation behind", () => {
  const unread = new Unread();
  unread.add(1, TOPIC);
  unread.mentions.add(1);
  expect(unread.remove(1)).toBe(true);
  expect(unread.remove(1)).toBe(false);
  expect([unread.total, unread.topics.size, unread.mentions.size]).toEqual([0, 0, 0]);
});

test("whether unheld messages mention once a channel is unmuted is found out", () => {
  const model = aModel({
    unread_msgs: {
      streams: [{ stream_id: 4, topic: "Plans", unread_message_ids: [1, 2, 3] }],
      pms: [],
      huddles: [],
      mentions: [1],
      old_unreads_missing: false,
    },
  });
  const { state, changes } = model;
  model.applyAll([
    { id: 1, type: "user_topic", stream_id: 4, topic_name: "Plans", visibility_policy: Policy.MUTED, last_updated: 1 } as never,
  ]);
  expect([...state.doubtfulMentions]).toEqual([4]);
  settleMentions(state, 4, [{ id: 1, flags: ["mentioned"] }, { id: 2, flags: ["stream_wildcard_mentioned"] }], changes);
  expect([...state.unread.mentions]).toEqual([1]);
  model.applyAll([{ id: 2, type: "user_topic", stream_id: 4, topic_name: "Plans", visibility_policy: 0, last_updated: 2 } as never]);
  settleMentions(state, 4, [{ id: 1, flags: ["mentioned"] }, { id: 2, flags: ["stream_wildcard_mentioned"] }], changes);
  expect([...state.unread.mentions]).toEqual([1, 2]);
  expect([...state.doubtfulMentions]).toEqual([]);
});

test("a vote that came with its message is counted once", () => {
  const model = aModel();
  const vote = { id: 7, message_id: 5, sender_id: 2, msg_type: "widget", content: "{}" };
  model.state.messages.set(5, { id: 5, submessages: [vote] } as never);
  model.applyAll([{ ...vote, id: 1, type: "submessage", submessage_id: 7 } as never]);
  expect(model.state.messages.get(5)!.submessages).toEqual([vote]);
});
