import { expect, test } from "vitest";
import { Unread } from "../src/model/unread";

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
