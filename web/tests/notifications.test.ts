import { describe, expect, it } from "vitest";
import { decide, iconCount } from "../src/notifications/decision";
import { editedMessage, mentionsAnew } from "../src/notifications/edits";
import { badgeText } from "../src/notifications/tab-icon";
import { bodyOfReactions, summaryOf } from "../src/notifications/text";
import { ageOf, localAddress, tagOf, tagOfReactions } from "../src/notifications/shown";
import { type Message, Policy, type State, topicKey } from "../src/model/state";
import type { NotifiedReaction, ReactionNotificationEvent } from "../src/protocol/types";
import { aMessage, aModel, aUser, SELF } from "./fakes";

const SETTINGS = {
  enable_desktop_notifications: true,
  enable_sounds: true,
  enable_followed_topic_desktop_notifications: true,
  enable_followed_topic_audible_notifications: true,
  enable_followed_topic_wildcard_mentions_notify: true,
  enable_stream_desktop_notifications: false,
  enable_stream_audible_notifications: false,
  wildcard_mentions_notify: true,
};
const BOTH = { isShown: true, isHeard: true };
const NEITHER = { isShown: false, isHeard: false };

function aState(changes: { settings?: object; channel?: object; policy?: number; muted?: number[] } = {}): State {
  const { state } = aModel({
    user_settings: { ...SETTINGS, ...changes.settings },
    subscriptions: [{ stream_id: 1, name: "general", subscriber_count: 2, is_muted: false, ...changes.channel }],
    realm_users: [aUser(SELF, "Ada"), aUser(11, "Bert")],
    muted_users: (changes.muted ?? []).map((id) => ({ id, timestamp: 0 })),
  });
  if (changes.policy !== undefined) setPolicy(state, "plans", changes.policy);
  return state;
}

function setPolicy(state: State, topic_name: string, visibility_policy: number): void {
  state.topicPolicies.set(topicKey(1, topic_name), { stream_id: 1, topic_name, visibility_policy, last_updated: 0 });
}

const inChannel = (...flags: string[]) => aMessage(101, { flags }) as Message;
const direct = (changes = {}) => aMessage(101, { type: "private", display_recipient: [{ id: SELF }, { id: 11 }], ...changes }) as Message;

describe("what notifies", () => {
  it("is a direct message, unless one sent it, read it, or muted its sender", () => {
    expect(decide(aState(), direct())).toEqual(BOTH);
    expect(decide(aState(), direct({ sender_id: SELF }))).toEqual(NEITHER);
    expect(decide(aState(), direct({ flags: ["read"] }))).toEqual(NEITHER);
    expect(decide(aState({ muted: [11] }), direct())).toEqual(NEITHER);
  });

  it("is shown and heard by settings of their own", () => {
    expect(decide(aState({ settings: { enable_sounds: false } }), direct())).toEqual({ isShown: true, isHeard: false });
    expect(decide(aState({ settings: { enable_desktop_notifications: false } }), direct())).toEqual({ isShown: false, isHeard: true });
  });

  it("is no other message of a channel, unless the channel or all channels are set so", () => {
    expect(decide(aState(), inChannel())).toEqual(NEITHER);
    expect(decide(aState({ channel: { desktop_notifications: true } }), inChannel())).toEqual({ isShown: true, isHeard: false });
    const general = { enable_stream_desktop_notifications: true, enable_stream_audible_notifications: true };
    expect(decide(aState({ settings: general }), inChannel())).toEqual(BOTH);
    expect(decide(aState({ settings: general, channel: { desktop_notifications: false } }), inChannel())).toEqual({ isShown: false, isHeard: true });
    expect(decide(aState({ settings: general, channel: { is_muted: true } }), inChannel())).toEqual(NEITHER);
    expect(decide(aState({ settings: general, policy: Policy.MUTED }), inChannel())).toEqual(NEITHER);
    expect(decide(aState({ settings: general, channel: { is_muted: true }, policy: Policy.UNMUTED }), inChannel())).toEqual(BOTH);
  });

  it("is a message of a followed topic", () => {
    expect(decide(aState({ policy: Policy.FOLLOWED, channel: { is_muted: true } }), inChannel())).toEqual(BOTH);
    const off = { enable_followed_topic_desktop_notifications: false, enable_followed_topic_audible_notifications: false };
    expect(decide(aState({ policy: Policy.FOLLOWED, settings: off }), inChannel())).toEqual(NEITHER);
  });

  it("is a mention by name also where one has muted, an alert word only where one has not", () => {
    const muted = { channel: { is_muted: true } };
    expect(decide(aState(muted), inChannel("mentioned"))).toEqual(BOTH);
    expect(decide(aState(), inChannel("has_alert_word"))).toEqual(BOTH);
    expect(decide(aState(muted), inChannel("has_alert_word"))).toEqual(NEITHER);
  });

  it.each(["stream_wildcard_mentioned", "topic_wildcard_mentioned"])("is a mention of all by the settings (%s)", (flag) => {
    expect(decide(aState(), inChannel(flag))).toEqual(BOTH);
    expect(decide(aState({ channel: { is_muted: true } }), inChannel(flag))).toEqual(NEITHER);
    expect(decide(aState({ channel: { wildcard_mentions_notify: false } }), inChannel(flag))).toEqual(NEITHER);
    const settings = { enable_followed_topic_desktop_notifications: false, enable_followed_topic_audible_notifications: false };
    const followed = { policy: Policy.FOLLOWED, channel: { wildcard_mentions_notify: false } };
    expect(decide(aState({ ...followed, settings }), inChannel(flag))).toEqual(BOTH);
    const off = { ...settings, enable_followed_topic_wildcard_mentions_notify: false };
    expect(decide(aState({ ...followed, settings: off }), inChannel(flag))).toEqual(NEITHER);
  });
});

it("the icon counts what the person has set", () => {
  const counts = [1, 2, 3, 4].map((desktop_icon_count_display) => {
    const state = aState({ settings: { desktop_icon_count_display } });
    for (const id of [1, 2, 3]) state.unread.add(id, { kind: "topic", channelId: 1, topic: "plans" });
    state.unread.mentions.add(3);
    state.unread.add(4, { kind: "topic", channelId: 1, topic: "Followed" });
    setPolicy(state, "followed", Policy.FOLLOWED);
    state.unread.add(5, { kind: "direct", key: "11" });
    return iconCount(state);
  });
  expect(counts).toEqual([5, 3, 2, 0]);
});

it("page and worker give a conversation the same tag, however it is written", () => {
  expect(tagOf({ kind: "topic", channelId: 1, topic: "Plans" })).toBe(tagOf({ kind: "topic", channelId: 1, topic: "plans" }));
  expect(tagOf({ kind: "direct", userIds: [11, 10, 11] })).toBe(tagOf({ kind: "direct", userIds: [10, 11] }));
  expect(tagOf({ kind: "direct", userIds: [1, 2] })).not.toBe(tagOf({ kind: "direct", userIds: [12] }));
});

it.each([
  ["https://chat.example.org/#narrow/dm/9-a/near/3", "/#narrow/dm/9-a/near/3"],
  ["https://chat.example.org/message/7", "/message/7"],
  ["https://chat.example.org//evil.example.com/", "/evil.example.com/"],
  ["javascript:alert(1)", "/"],
  [undefined, "/"],
])("a click on %s leads to this server", (url, address) => {
  expect(new URL(localAddress(url), "https://here.example.org/").origin).toBe("https://here.example.org");
  expect(localAddress(url)).toBe(address);
});

const spanOf = (attributes: string, kind = "user-mention") => `<p>Hi <span class="${kind}" ${attributes}>@Ada</span></p>`;
const NAMED = spanOf(`data-user-id="${SELF}"`);

describe("an edit", () => {
  const edit = (orig_rendered_content: string, changes = {}) => ({
    stream_id: 1, message_id: 5, rendering_only: false, flags: ["mentioned"], rendered_content: NAMED, orig_rendered_content, ...changes,
  });

  it.each([
    ["nobody", "<p>Hi</p>"],
    ["another", spanOf('data-user-id="11"')],
    ["one silently", spanOf(`data-user-id="${SELF}"`, "user-mention silent")],
    ["a group of others", spanOf('data-user-group-id="7"', "user-group-mention")],
  ])("mentions anew where the message mentioned %s", (_, before) => {
    expect(mentionsAnew(aState(), edit(before) as never)).toBe(true);
  });

  it.each([
    ["one by name", NAMED],
    ["all", spanOf('data-user-id="*"')],
    ["all of the topic", spanOf("", "topic-mention")],
  ])("does not where it mentioned %s", (_, before) => {
    expect(mentionsAnew(aState(), edit(before) as never)).toBe(false);
  });

  it("does not mention anew by a move, a new rendering, in a direct message, or of another", () => {
    for (const changes of [{ rendered_content: undefined }, { rendering_only: true }, { stream_id: undefined }, { flags: [] }]) {
      expect(mentionsAnew(aState(), edit("<p>Hi</p>", changes) as never)).toBe(false);
    }
  });

  it("is shown with the message, loaded or fetched; without one that is gone", async () => {
    const event = { message_id: 101, flags: ["mentioned"] };
    const fetched = async () => inChannel("read");
    const gone = () => Promise.reject(new Error("Invalid message(s)"));
    expect(await editedMessage(event, inChannel(), gone)).toMatchObject({ id: 101, flags: ["mentioned"] });
    expect(await editedMessage(event, undefined, fetched)).toMatchObject({ id: 101, flags: ["mentioned"] });
    expect(await editedMessage(event, undefined, gone)).toBeUndefined();
  });
});

it("has room for two digits on the icon", () => {
  expect([1, 99, 100, 12_345].map(badgeText)).toEqual(["1", "99", "99+", "99+"]);
});

describe("reactions to one's messages", () => {
  const reaction = (user_id: number, emoji_name = "tada", emoji_code = "1f389", reaction_type = "unicode_emoji") => ({ user_id, emoji_name, emoji_code, reaction_type });
  const event = (user_count: number, ...reactions: NotifiedReaction[]): ReactionNotificationEvent =>
    ({ id: 1, type: "reaction_notification", message_id: 101, window_id: 7, user_count, reactions });

  it("name people once and emoji once", () => {
    const reacted = event(2, reaction(11), reaction(11, "heart", "2764"), reaction(12));
    expect(summaryOf(aState(), reacted)).toBe("Bert, Unknown user: 🎉 ❤\ufe0f");
  });

  it("count users that they do not list, and name emoji without characters", () => {
    const reacted = event(30, reaction(11, "parrot", "5", "realm_emoji"));
    expect(summaryOf(aState(), reacted)).toBe("Bert, +29: :parrot:");
  });

  it("hide direct messages as the user has set", () => {
    const hiding = aState({ settings: { pm_content_in_desktop_notifications: false } });
    const message = direct({ sender_id: SELF, content: "<p>Secret</p>" });
    const reacted = event(1, reaction(11));
    expect(bodyOfReactions(hiding, reacted, message)).toBe("Bert: 🎉");
  });

  it("replace those of the same message by newer ones", () => {
    expect(tagOfReactions(101)).not.toBe(tagOfReactions(102));
    expect(ageOf({ windowId: 8, address: "/" })).toBeGreaterThan(ageOf({ windowId: 7, address: "/" }));
    expect(ageOf(undefined)).toBe(-1);
  });
});
