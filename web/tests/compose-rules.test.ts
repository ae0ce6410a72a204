import { describe, expect, it } from "vitest";
import type { Channel, State } from "../src/model/state";
import {
  contentRefusal,
  lengthOf,
  mentionedIds,
  overLimit,
  targetRefusal,
  wildcardAudience,
  wildcardRefusal,
  withoutCode,
} from "../src/views/compose/rules";
import { aModel, aUser, SELF } from "./fakes";

const EVERYONE = 1;
const ADMINS = 2;
const RULES = { allow_everyone_group: true };

function aState(changes: { channel?: Record<string, unknown>; fields?: Record<string, unknown>; users?: Record<string, unknown>[] } = {}): State {
  return aModel({
    max_topic_length: 60,
    max_message_length: 100,
    realm_empty_topic_display_name: "general chat",
    realm_topics_policy: "allow_empty_topic",
    realm_can_mention_many_users_group: ADMINS,
    realm_direct_message_permission_group: EVERYONE,
    realm_direct_message_initiator_group: EVERYONE,
    server_supported_permission_settings: {
      realm: { direct_message_initiator_group: RULES, can_mention_many_users_group: RULES },
      stream: { can_send_message_group: RULES },
    },
    realm_users: changes.users ?? [aUser(SELF, "Ada"), aUser(11, "Bert")],
    realm_non_active_users: [aUser(12, "Gone")],
    realm_user_groups: [
      { id: EVERYONE, name: "role:everyone", members: [SELF, 11], direct_subgroup_ids: [], is_system_group: true },
      { id: ADMINS, name: "role:administrators", members: [], direct_subgroup_ids: [], is_system_group: true },
    ],
    subscriptions: [
      { stream_id: 1, name: "general", subscriber_count: 20, topics_policy: "inherit", can_send_message_group: EVERYONE, ...changes.channel },
    ],
    ...changes.fields,
  }).state;
}

const topic = (name: string, channelId: number | undefined = 1) => ({ kind: "topic" as const, channelId, topic: name });
const direct = (...userIds: number[]) => ({ kind: "direct" as const, userIds });

describe("where one may write", () => {
  it("allows what the server allows", () => {
    expect(targetRefusal(aState(), topic("plans"))).toBeUndefined();
    expect(targetRefusal(aState(), topic(""))).toBeUndefined();
    expect(targetRefusal(aState(), direct(11))).toBeUndefined();
    expect(targetRefusal(aState(), direct(SELF))).toBeUndefined();
  });

  it.each<[string, Record<string, unknown>]>([
    ["archived", { is_archived: true }],
    ["that one may not post in", { can_send_message_group: ADMINS }],
    ["that admits certain people only", { can_send_message_group: { direct_members: [11], direct_subgroups: [] } }],
  ])("refuses a channel %s", (_, channel) => {
    expect(targetRefusal(aState({ channel }), topic("plans"))?.field).toBe("Channel");
  });

  it("refuses guests in public channels that they are not subscribed to", () => {
    const state = aState({ users: [{ ...aUser(SELF, "Ada"), is_guest: true }] });
    const channel = state.channels.get(1) as Channel;
    channel.is_subscribed = false;
    expect(targetRefusal(state, topic("plans"))?.field).toBe("Channel");
    expect(targetRefusal(state, topic("plans", undefined))?.field).toBe("Channel");
  });

  it("follows the policy for topics, of the channel before the organization's", () => {
    const required = { realm_topics_policy: "disable_empty_topic" };
    expect(targetRefusal(aState({ fields: required }), topic(""))?.field).toBe("Topic");
    expect(targetRefusal(aState({ fields: required }), topic("general chat"))?.field).toBe("Topic");
    expect(targetRefusal(aState({ fields: required, channel: { topics_policy: "allow_empty_topic" } }), topic(""))).toBeUndefined();
    expect(targetRefusal(aState({ channel: { topics_policy: "empty_topic_only" } }), topic("plans"))?.field).toBe("Topic");
  });

  it("counts characters of a topic, without the mark of resolved ones", () => {
    expect(targetRefusal(aState(), topic("🎉".repeat(60)))).toBeUndefined();
    expect(targetRefusal(aState(), topic(`✔ ${"x".repeat(60)}`))).toBeUndefined();
    expect(targetRefusal(aState(), topic("x".repeat(61)))?.field).toBe("Topic");
  });

  it("refuses people who are gone, and no one", () => {
    expect(targetRefusal(aState(), direct(12))?.reason).toContain("Gone");
    expect(targetRefusal(aState(), direct())?.field).toBe("People");
    expect(targetRefusal(aState(), direct(99))?.field).toBe("People");
  });

  it("lets only those begin a conversation who may, and all go on with one", () => {
    const state = aState({ fields: { realm_direct_message_initiator_group: ADMINS } });
    expect(targetRefusal(state, direct(11))?.field).toBe("People");
    state.conversations.set("11", 5);
    expect(targetRefusal(state, direct(11))).toBeUndefined();
    const closed = aState({ fields: { realm_direct_message_permission_group: ADMINS } });
    expect(targetRefusal(closed, direct(11))?.field).toBe("People");
  });
});

describe("what one may send", () => {
  it("has a limit of characters, not of code units", () => {
    expect(lengthOf("a🎉é")).toBe(3);
    expect(contentRefusal(aState(), "🎉".repeat(100))).toBeUndefined();
    expect(contentRefusal(aState(), "🎉".repeat(101))?.reason).toContain("1 character");
    expect(overLimit(aState(), "x".repeat(90))).toBe(-10);
    expect(contentRefusal(aState(), " \n")?.field).toBe("Message");
  });

  it("mentions all of a large channel only with the permission", () => {
    const state = aState();
    expect(wildcardRefusal(state, topic("x"), "hi @**all**")?.field).toBe("Message");
    expect(wildcardRefusal(state, topic("x"), "`@**all**`")).toBeUndefined();
    expect(wildcardRefusal(aState({ channel: { subscriber_count: 15 } }), topic("x"), "@**all**")).toBeUndefined();
    expect(wildcardAudience(state, topic("x"), "```quote\n@**everyone**\n```")).toBe(20);
    expect(wildcardAudience(state, direct(11), "@**all**")).toBe(0);
  });

  it("finds who is mentioned, outside of code", () => {
    const named = (name: string) => ({ Bert: 11 })[name];
    expect(mentionedIds("@**Bert** @**Ada|10** @_**X|5** `@**Y|6**`", named)).toEqual([11, 10]);
  });

  it("takes code out of a text", () => {
    expect(withoutCode("a `b` c\n```py\nd\n```\ne")).toBe("a  c\ne");
  });
});
