/** The state that `POST /register` gives, in the form in which views read it. */

import type {
  Channel as WireChannel,
  ChannelFolder,
  Draft,
  Message as WireMessage,
  MessageReaction,
  ModernPresence,
  NavigationView,
  Recipient,
  RegisterState,
  Reminder,
  SavedSnippet,
  ScheduledMessage,
  SubscribedTopicDescription,
  Subscription,
  User as WireUser,
  UserGroup,
  UserStatus,
  UserTopic,
} from "../protocol/types";
import { Unread } from "./unread";

export type { Draft, NavigationView, Reminder };
export type Folder = ChannelFolder;
export type TopicPolicy = UserTopic;
export type Scheduled = ScheduledMessage;
export type Snippet = SavedSnippet;
/** Who has reacted is known by id. */
export type Reaction = Omit<MessageReaction, "user">;
export type Presence = ModernPresence;
export type Status = UserStatus;

export type User = WireUser & { is_active: boolean };

/** The part of a message that views read: messages that are being sent have all of it. */
export type Message = Omit<
  WireMessage,
  "content_type" | "display_recipient" | "edit_history" | "flags" | "reactions" | "recipient_id" | "sender_realm_str"
> & {
  display_recipient: string | Pick<Recipient, "id" | "full_name" | "email">[];
  flags: string[];
  reactions: Reaction[];
};

export type GroupValue = number | { direct_members: number[]; direct_subgroups: number[] };

/** A channel, with the user's own settings where the user is subscribed to it. */
export type Channel = WireChannel &
  Partial<Omit<Subscription, keyof WireChannel | "subscribers" | "partial_subscribers">> & { is_subscribed: boolean };
/** The settings that say who may do what in a channel. */
export type ChannelPermission = Extract<keyof WireChannel, `can_${string}`>;

export type Group = UserGroup;

/** Visibility policies of a topic. */
export const Policy = { INHERIT: 0, MUTED: 1, UNMUTED: 2, FOLLOWED: 3 } as const;

export interface UserSettings {
  [name: string]: unknown;
}

/** Fields of `POST /register` that are kept as they come: organization, server and limits. */
export type Fields = Partial<Omit<RegisterState, (typeof ENTITIES)[number] | `can_${string}`>>;

export interface State {
  queueId: string;
  lastEventId: number;
  userId: number;
  fields: Fields;
  settings: UserSettings;
  users: Map<number, User>;
  groups: Map<number, Group>;
  channels: Map<number, Channel>;
  folders: Map<number, Folder>;
  topicPolicies: Map<string, TopicPolicy>;
  /** Pinned topics by channel, in the order of pinning. Channels without any are not in it. */
  pinnedTopics: Map<number, string[]>;
  /** Ids of pinned messages by channel, ascending. */
  pinnedMessages: Map<number, number[]>;
  /** Descriptions of topics, by `topicKey`. */
  topicDescriptions: Map<string, SubscribedTopicDescription>;
  unread: Unread;
  starred: Set<number>;
  presences: Map<number, Presence>;
  statuses: Map<number, Status>;
  mutedUsers: Set<number>;
  alertWords: string[];
  drafts: Map<number, Draft>;
  scheduled: Map<number, Scheduled>;
  reminders: Map<number, Reminder>;
  snippets: Map<number, Snippet>;
  navigationViews: Map<string, NavigationView>;
  /** The newest message of each direct message conversation, by `directKey`. */
  conversations: Map<string, number>;
  /** Conversations that may be empty: their newest message was deleted, and no other is known. */
  doubtful: Set<string>;
  /** Channels with unread messages that are not held, of which mutings have decided anew whether they count as mentions. */
  doubtfulMentions: Set<number>;
  /** When those who type began to, by conversation and user id. */
  typing: Map<string, Map<number, number>>;
  /** Messages that were fetched or arrived. Not part of what register gives. */
  messages: Map<number, Message>;
  maxMessageId: number;
  /** Where in the organization's history the queue begins. */
  position: number;
}

const ENTITIES = [
  "realm_users",
  "realm_non_active_users",
  "cross_realm_bots",
  "realm_user_groups",
  "subscriptions",
  "unsubscribed",
  "never_subscribed",
  "streams",
  "channel_folders",
  "user_topics",
  "pinned_topics",
  "pinned_messages",
  "topic_descriptions",
  "unread_msgs",
  "starred_messages",
  "presences",
  "user_status",
  "muted_users",
  "alert_words",
  "drafts",
  "scheduled_messages",
  "reminders",
  "saved_snippets",
  "navigation_views",
  "recent_private_conversations",
  "user_settings",
  "max_message_id",
  "position",
  "queue_id",
  "last_event_id",
  "result",
  "msg",
] as const;

/** Return a field by a name that is made when it is asked for. */
export function fieldNamed(fields: Fields, name: string): unknown {
  return (fields as Record<string, unknown>)[name];
}

/** Return the key of a topic, under which names that differ in case are one. */
export function topicKey(channelId: number, topic: string): string {
  return `${channelId}\n${topic.toLowerCase()}`;
}

/** Return the key of a direct message conversation, from the ids of all who take part. */
export function directKey(userIds: Iterable<number>, self: number): string {
  const others = [...new Set(userIds)].filter((id) => id !== self).sort((one, other) => one - other);
  return others.length ? others.join(",") : String(self);
}

/** Return the ids of those who take part in the conversation, without the user unless alone. */
export function idsOfKey(key: string): number[] {
  return key.split(",").map(Number);
}

const PERSONAL = [
  ...["color", "is_muted", "in_home_view", "pin_to_top", "desktop_notifications", "audible_notifications"],
  ...["push_notifications", "email_notifications", "wildcard_mentions_notify"],
];

/** Return a channel as one to which the user is not subscribed: personal settings of it are not kept. */
export function unsubscribed(channel: Omit<Channel, "is_subscribed">): Channel {
  const kept = Object.entries(channel).filter(([name]) => !PERSONAL.includes(name));
  return { ...Object.fromEntries(kept), is_subscribed: false } as Channel;
}

function mapOf<Key, Value>(list: Value[] | undefined, keyOf: (each: Value) => Key): Map<Key, Value> {
  return new Map((list ?? []).map((each) => [keyOf(each), each]));
}

/** Make the state of the response of `POST /register`. */
export function stateOf(answer: Partial<RegisterState>): State {
  const self: number = answer.user_id ?? 0;
  // Permissions follow from groups, which change: no event says that it is another now.
  const isField = (name: string) => !(ENTITIES as readonly string[]).includes(name) && !name.startsWith("can_");
  const fields: Fields = Object.fromEntries(Object.entries(answer).filter(([name]) => isField(name)));
  const users = new Map<number, User>();
  for (const [list, isActive, isSystem] of [
    [answer.realm_non_active_users, false, false],
    [answer.realm_users, true, false],
    [answer.cross_realm_bots, true, true],
  ] as const) {
    for (const user of list ?? []) {
      users.set(user.user_id, { ...user, is_active: isActive, ...(isSystem ? { is_system_bot: true } : {}) });
    }
  }
  const channels = new Map<number, Channel>();
  for (const [list, isSubscribed] of [
    [answer.never_subscribed, false],
    [answer.unsubscribed, false],
    [answer.subscriptions, true],
  ] as const) {
    for (const channel of list ?? []) {
      channels.set(channel.stream_id, isSubscribed ? { ...channel, is_subscribed: true } : unsubscribed(channel));
    }
  }
  return {
    queueId: answer.queue_id ?? "",
    lastEventId: answer.last_event_id ?? -1,
    userId: self,
    fields,
    settings: { ...answer.user_settings },
    users,
    groups: mapOf(answer.realm_user_groups, (each) => each.id),
    channels,
    folders: mapOf(answer.channel_folders, (each) => each.id),
    topicPolicies: new Map(
      (answer.user_topics ?? []).map((each) => [topicKey(each.stream_id, each.topic_name), each]),
    ),
    pinnedTopics: new Map((answer.pinned_topics ?? []).map((each) => [each.stream_id, each.topics])),
    pinnedMessages: new Map((answer.pinned_messages ?? []).map((each) => [each.stream_id, each.message_ids])),
    topicDescriptions: mapOf(answer.topic_descriptions, (each) => topicKey(each.stream_id, each.topic)),
    unread: Unread.of(answer.unread_msgs, self),
    starred: new Set(answer.starred_messages ?? []),
    presences: new Map(Object.entries(answer.presences ?? {}).map(([id, each]) => [Number(id), each])),
    statuses: new Map(Object.entries(answer.user_status ?? {}).map(([id, each]) => [Number(id), each])),
    mutedUsers: new Set((answer.muted_users ?? []).map((each) => each.id)),
    alertWords: answer.alert_words ?? [],
    drafts: mapOf(answer.drafts, (each) => each.id),
    scheduled: mapOf(answer.scheduled_messages, (each) => each.scheduled_message_id),
    reminders: mapOf(answer.reminders, (each) => each.reminder_id),
    snippets: mapOf(answer.saved_snippets, (each) => each.id),
    navigationViews: mapOf(answer.navigation_views, (each) => each.fragment),
    conversations: new Map(
      (answer.recent_private_conversations ?? []).map((each) => [
        directKey(each.user_ids, self),
        each.max_message_id,
      ]),
    ),
    doubtful: new Set(),
    doubtfulMentions: new Set(),
    typing: new Map(),
    messages: new Map(),
    maxMessageId: answer.max_message_id ?? -1,
    position: answer.position ?? 0,
  };
}
