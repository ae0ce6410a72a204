import { expect, test } from "vitest";
import type { ServerEvent } from "../src/model/events";
import { matches } from "../src/model/matching";
import { canPin } from "../src/model/message-permissions";
import { isPinned, isTopicPinned, withPinnedFirst } from "../src/model/pins";
import type { Message } from "../src/model/state";
import { aModel, aUser, SELF } from "./fakes";

const CHANNELS = [{ stream_id: 7, name: "engines" }, { stream_id: 8, name: "wheels" }];

function pinned(more: Record<string, unknown> = {}) {
  return aModel({
    subscriptions: CHANNELS,
    pinned_topics: [{ stream_id: 7, topics: ["Rules", ""] }],
    pinned_messages: [{ stream_id: 7, message_ids: [3, 5] }],
    ...more,
  } as never);
}

const apply = (model: ReturnType<typeof pinned>, ...events: object[]) => model.applyAll(events as ServerEvent[]);

test("a list replaces that of its channel, and an empty one removes it", () => {
  const model = pinned();
  const marked: string[] = [];
  model.changes.listen((parts) => marked.push(...parts));
  apply(model, { type: "pinned_messages", stream_id: 8, message_ids: [9] }, { type: "pinned_topics", stream_id: 7, topics: [] });
  expect([...model.state.pinnedMessages]).toEqual([[7, [3, 5]], [8, [9]]]);
  expect([...model.state.pinnedTopics]).toEqual([]);
  expect(marked).toContain("pins");
});

test("messages that are deleted or leave the channel are not pinned there any more", () => {
  const model = pinned();
  apply(model, { type: "delete_message", message_ids: [3], message_type: "stream", stream_id: 7, topic: "a" });
  expect(model.state.pinnedMessages.get(7)).toEqual([5]);
  const move = { type: "update_message", message_id: 5, message_ids: [5], stream_id: 7, orig_subject: "a" };
  apply(model, { ...move, subject: "b" });
  expect(model.state.pinnedMessages.get(7)).toEqual([5]);
  apply(model, { ...move, new_stream_id: 8 });
  expect(model.state.pinnedMessages.has(7)).toBe(false);
});

test("a channel that the user leaves keeps no pins", () => {
  const model = pinned();
  apply(model, { type: "subscription", op: "remove", subscriptions: [{ stream_id: 7, name: "engines" }] });
  expect([model.state.pinnedTopics.size, model.state.pinnedMessages.size]).toEqual([0, 0]);
});

test("pinned topics come first, in the order of pinning and whatever their case", () => {
  const { state } = pinned();
  expect(withPinnedFirst(state, 7, ["new", "rules", "old"])).toEqual(["Rules", "", "new", "old"]);
  expect(withPinnedFirst(state, 8, ["new"])).toEqual(["new"]);
  expect([isTopicPinned(state, 7, "RULES"), isTopicPinned(state, 7, ""), isTopicPinned(state, 8, "Rules")]).toEqual([true, true, false]);
});

test("is:pinned is decided by the pins that are known", () => {
  const { state } = pinned();
  const terms = [{ operator: "is", operand: "pinned" }] as never;
  const message = (id: number, stream_id: number) => ({ id, stream_id, type: "stream", subject: "a", flags: [] }) as unknown as Message;
  expect([matches(message(3, 7), terms, state), matches(message(4, 7), terms, state), matches(message(3, 9), terms, state)]).toEqual([true, false, false]);
  expect(isPinned(state, message(5, 7))).toBe(true);
});

test("the organization, the channel and those who administer it permit to pin", () => {
  const groups = [
    { id: 1, name: "a", members: [SELF], direct_subgroup_ids: [] },
    { id: 2, name: "b", members: [], direct_subgroup_ids: [] },
  ];
  const may = (realm: number, channel: object, more: object = {}, me: object = {}) => {
    const { state } = aModel({
      realm_users: [{ ...aUser(SELF, "Ada"), ...me }],
      realm_user_groups: groups,
      realm_can_pin_group: realm,
      subscriptions: [{ stream_id: 7, name: "engines", can_pin_group: 2, can_administer_channel_group: 2, ...channel, ...more }],
    } as never);
    return canPin(state, state.channels.get(7)!);
  };
  expect([may(1, {}), may(2, {}), may(2, { can_pin_group: 1 }), may(2, { can_administer_channel_group: 1 })]).toEqual([true, false, true, true]);
  expect(may(1, {}, { is_archived: true })).toBe(false);
  expect(may(2, {}, {}, { is_admin: true })).toBe(true);
});
