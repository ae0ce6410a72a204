/** The state that `POST /register` gives, in the form in which views read it. */

import type {
  ChannelFolder,
  Draft,
  Message as WireMessage,
  MessageReaction,
  ModernPresence,
  NavigationView,
  Recipient,
  Reminder,
  SavedSnippet,
  ScheduledMessage,
  User as WireUser,
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

/** A message as far as views read it, so that one on its way has it all. */
export type Message = Omit<
  WireMessage,
  "content_type" | "display_recipient" | "edit_history" | "flags" | "reactions" | "recipient_id" | "sender_realm_str"
> & {
  display_recipient: string | Pick<Recipient, "id" | "full_name" | "email">[];
  flags: string[];
  reactions: Reaction[];
};

export type GroupValue = number | { direct_members: number[]; direct_subgroups: number[] };

export interface Channel {
  stream_id: number;
  name: string;
  description: string;
  rendered_description: string;
  invite_only: boolean;
  is_web_public: boolean;
  is_archived: boolean;
  history_public_to_subscribers: boolean;
  is_recently_active: boolean;
  creator_id: number | null;
  date_created: number;
  first_message_id: number | null;
  message_retention_days: number | null;
  folder_id: number | null;
  topics_policy: string;
  stream_weekly_traffic: number | null;
  subscriber_count: number;
  is_subscribed: boolean;
  /** What follows is there for channels that one is subscribed to. */
  color?: string;
  pin_to_top?: boolean;
  is_muted?: boolean;
  desktop_notifications?: boolean | null;
  audible_notifications?: boolean | null;
  push_notifications?: boolean | null;
  email_notifications?: boolean | null;
  wildcard_mentions_notify?: boolean | null;
  /** Permission settings: `can_send_message_group` and the like. */
  [setting: `can_${string}`]: GroupValue | undefined;
}

export interface Group {
  id: number;
  name: string;
  description: string;
  members: number[];
  direct_subgroup_ids: number[];
  is_system_group: boolean;
  deactivated: boolean;
  creator_id: number | null;
  date_created: number | null;
  [setting: `can_${string}`]: GroupValue | undefined;
}

/** Visibility policies of a topic. */
export const Policy = { INHERIT: 0, MUTED: 1, UNMUTED: 2, FOLLOWED: 3 } as const;

export interface UserSettings {
  [name: string]: unknown;
}

/** Fields of `POST /register` that are kept as they come: organization, server and limits. */
export interface Fields {
  [name: string]: any;
}

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
  /** When those who type began to, by conversation and user id. */
  typing: Map<string, Map<number, number>>;
  /** Messages that were fetched or arrived. Not part of what register gives. */
  messages: Map<number, Message>;
  maxMessageId: number;
}

const ENTITIES = new Set([
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
  "queue_id",
  "last_event_id",
  "result",
  "msg",
]);

/** Return the key of a topic, under which names that differ in case are one. */
export function topicKey(channelId: number, topic: string): string {
  return `${channelId}\n${topic.toLowerCase()}`;
}

/** Return the key of a direct message conversation, from the ids of all who take part. */
export function directKey(userIds: Iterable<number>, self: number): string {
  const others = [...new Set(userIds)].filter((id) => id !== self).sort((one, other) => one - other);
  return others.length ? others.join(",") : String(self);
}

/** Return the ids of those who take part in the conversation, without oneself unless alone. */
export function idsOfKey(key: string): number[] {
  return key.split(",").map(Number);
}

const PERSONAL = [
  ...["color", "is_muted", "in_home_view", "pin_to_top", "desktop_notifications", "audible_notifications"],
  ...["push_notifications", "email_notifications", "wildcard_mentions_notify"],
];

/** Return a channel to which one is not subscribed: one's settings of it are not kept. */
export function unsubscribed(channel: Omit<Channel, "is_subscribed">): Channel {
  const kept = Object.entries(channel).filter(([name]) => !PERSONAL.includes(name));
  return { ...Object.fromEntries(kept), is_subscribed: false } as Channel;
}

/** Make the state of the response of `POST /register`. */
export function stateOf(answer: Record<string, any>): State {
  const self: number = answer.user_id ?? 0;
  const fields: Fields = {};
  for (const [name, value] of Object.entries(answer)) {
    // What one may do follows from groups, which change: no event says that it is another now.
    if (!ENTITIES.has(name) && !name.startsWith("can_")) fields[name] = value;
  }
  const by = <K extends string, V extends Record<K, any>>(list: V[] | undefined, key: K): Map<V[K], V> =>
    new Map((list ?? []).map((each) => [each[key], each]));
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
    groups: by<"id", Group>(answer.realm_user_groups, "id"),
    channels,
    folders: by<"id", Folder>(answer.channel_folders, "id"),
    topicPolicies: new Map(
      (answer.user_topics ?? []).map((each: TopicPolicy) => [topicKey(each.stream_id, each.topic_name), each]),
    ),
    unread: Unread.of(answer.unread_msgs, self),
    starred: new Set(answer.starred_messages ?? []),
    presences: new Map(Object.entries(answer.presences ?? {}).map(([id, each]) => [Number(id), each as Presence])),
    statuses: new Map(Object.entries(answer.user_status ?? {}).map(([id, each]) => [Number(id), each as Status])),
    mutedUsers: new Set((answer.muted_users ?? []).map((each: { id: number }) => each.id)),
    alertWords: answer.alert_words ?? [],
    drafts: by<"id", Draft>(answer.drafts, "id"),
    scheduled: by<"scheduled_message_id", Scheduled>(answer.scheduled_messages, "scheduled_message_id"),
    reminders: by<"reminder_id", Reminder>(answer.reminders, "reminder_id"),
    snippets: by<"id", Snippet>(answer.saved_snippets, "id"),
    navigationViews: by<"fragment", NavigationView>(answer.navigation_views, "fragment"),
    conversations: new Map(
      (answer.recent_private_conversations ?? []).map((each: { user_ids: number[]; max_message_id: number }) => [
        directKey(each.user_ids, self),
        each.max_message_id,
      ]),
    ),
    doubtful: new Set(),
    typing: new Map(),
    messages: new Map(),
    maxMessageId: answer.max_message_id ?? -1,
  };
}
