// Made by scripts/make-web-types from the server's own declarations: do not edit.

/** Fields of every answer to a request that succeeded. */
export interface Success {
  result: "success";
  msg: string;
  /** Parameters that the endpoint does not know. */
  ignored_parameters_unsupported?: string[];
}

/** `METHOD /path` of an endpoint. */
export type Operation = keyof Endpoints;

/** Parameters of an endpoint, by name. */
export type Params<O extends Operation> = Endpoints[O]["params"];

/** A successful answer of an endpoint. */
export type Answer<O extends Operation> = Success & Endpoints[O]["answer"];

/** An export of the caller's data. Moments are in seconds since 1970. */
export interface AccountExport {
  id: number;
  requested_at: number;
  state: "failed" | "pending" | "ready";
  /** How much is done, from 0 to 100. */
  percent: number;
  /** Size of the file in bytes, once it is ready. */
  size: number | null;
  /** When it is deleted. */
  expires_at: number;
  /** Path of the file at the organization's address, once it is ready. */
  url: string | null;
}

/** A channel to subscribe to, with its color. */
export interface AddParam {
  /** Name of the channel. */
  name: string;
  /** Description, if the channel is created. */
  description?: string;
  /** Color of the channel, such as `#c2c2c2`. Default: chosen by the server. */
  color?: string | null;
}

/** All alert words of a user, delivered to this user. */
export interface AlertWordsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "alert_words";
  alert_words: string[];
}

export interface AnswerParam {
  /** Id of the custom profile field. */
  id: number;
  /** The answer: text, for fields of the type users a list of user ids; null removes it. */
  value: string | number[] | null;
}

/** A file is new, or has other messages. */
export interface AttachmentAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "attachment";
  op: "add";
  attachment: ShownAttachment;
  /** Bytes used by the whole realm. */
  upload_space_used: number;
}

export type AttachmentEvent = AttachmentAddEvent | AttachmentRemoveEvent | AttachmentUpdateEvent;

export interface AttachmentRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "attachment";
  op: "remove";
  attachment: GoneAttachment;
  upload_space_used: number;
}

/** A file is new, or has other messages. */
export interface AttachmentUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "attachment";
  op: "update";
  attachment: ShownAttachment;
  /** Bytes used by the whole realm. */
  upload_space_used: number;
}

/** One change. */
export interface AuditEntry {
  id: number;
  position: number;
  timestamp: number;
  actor_id: number | null;
  action: string;
  subject_id: number | null;
  subject_type:
    | "channel"
    | "channel_folder"
    | "compliance_case"
    | "default_channel_group"
    | "emoji"
    | "group"
    | "legal_hold"
    | "linkifier"
    | "playground"
    | "profile_field"
    | "realm_export"
    | "realm_import"
    | "topic"
    | "user"
    | null;
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

export interface Billing {
  has_pending_sponsorship_request: boolean;
}

/** What only users who may manage a bot know of it: the rest is in its user. Its API key is in `GET /bots/{bot_id}/api_key` alone. */
export interface Bot {
  user_id: number;
  default_sending_stream: string | null;
  default_events_register_stream: string | null;
  default_all_public_streams: boolean;
  services: Service[];
}

/** Changed fields of a bot; the others are unset. */
export interface BotChange {
  user_id: number;
  services?: Service[];
  default_sending_stream?: string | null;
  default_events_register_stream?: string | null;
  default_all_public_streams?: boolean;
}

/** The end of a click, or a later answer to it, for the user who has clicked; it is no message. */
export interface ButtonClickAnswerEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "button_click_answer";
  /** As the click returned it. */
  click_id: string;
  message_id: number;
  bot_id: number;
  /** Whether the server says that something has failed; otherwise it is the bot's answer. */
  is_error: boolean;
  /** In Markdown; empty if there is nothing to show. */
  content: string;
  rendered_content: string;
}

export interface ButtonParam {
  /** Id of the button, unique in the message: at most 255 characters. */
  id: string;
  /** Text of the button, in a line of at most 75 characters. */
  label: string;
  /** What the bot's service alone gets with a click, at most 2,000 characters. */
  value?: string;
  /** Whether it is the usual choice, or one to think about. */
  style?: "default" | "primary" | "danger";
  /** Question to ask before the click is sent. */
  confirm?: ConfirmParam | null;
}

/** The new value of a profile field; null: removed. */
export interface ChangedValue {
  id: number;
  value: string | null;
  rendered_value?: string;
}

/** A channel, in the form for every user with access to its metadata. */
export interface Channel {
  stream_id: number;
  name: string;
  description: string;
  rendered_description: string;
  date_created: number;
  creator_id: number | null;
  invite_only: boolean;
  is_web_public: boolean;
  history_public_to_subscribers: boolean;
  is_archived: boolean;
  topics_policy: string;
  folder_id: number | null;
  message_retention_days: number | null;
  /** Whether first-time subscribers get push notifications, whatever their own default is. Unset only in events of the previous release. */
  default_push_notifications?: boolean;
  first_message_id: number | null;
  is_recently_active: boolean;
  /** null: too young for an average. */
  stream_weekly_traffic: number | null;
  subscriber_count: number;
  stream_post_policy: number;
  is_announcement_only: boolean;
  can_add_subscribers_group: number | DirectMembers;
  can_administer_channel_group: number | DirectMembers;
  /** Unset only in events of the previous release. */
  can_create_topic_group?: number | DirectMembers;
  can_delete_any_message_group: number | DirectMembers;
  can_delete_own_message_group: number | DirectMembers;
  can_move_messages_out_of_channel_group: number | DirectMembers;
  can_move_messages_within_channel_group: number | DirectMembers;
  /** Unset for clients without the capability `pins`, and in events of the previous release. */
  can_pin_group?: number | DirectMembers;
  can_remove_subscribers_group: number | DirectMembers;
  can_resolve_topics_group: number | DirectMembers;
  can_send_message_group: number | DirectMembers;
  can_subscribe_group: number | DirectMembers;
}

export interface ChannelFolder {
  id: number;
  name: string;
  description: string;
  rendered_description: string;
  creator_id: number | null;
  date_created: number | null;
  is_archived: boolean;
  order: number;
}

export interface ChannelFolderAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "channel_folder";
  op: "add";
  channel_folder: ChannelFolder;
}

export type ChannelFolderEvent =
  | ChannelFolderAddEvent
  | ChannelFolderReorderEvent
  | ChannelFolderUpdateEvent;

/** The new order of all folders, archived ones included, by id. */
export interface ChannelFolderReorderEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "channel_folder";
  op: "reorder";
  order: number[];
}

export interface ChannelFolderUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "channel_folder";
  op: "update";
  channel_folder_id: number;
  data: FolderChange;
}

/** A channel without subscribers of its own: enough fields to find it. */
export interface ChannelName {
  stream_id: number;
  name: string;
}

/** Where in a channel a message is edited. */
export interface ChannelPlace {
  type: "channel";
  channel_id: number;
  topic: string;
}

export interface ClientPresence {
  status: "active" | "idle" | "offline";
  timestamp: number;
}

/** A case. Moments are in seconds since 1970. */
export interface ComplianceCase {
  id: number;
  creator_id: number;
  reason: string;
  /** `waiting` for the approval of another officer, `open` to its creator, or `closed`. */
  state: "closed" | "open" | "waiting";
  needs_approval: boolean;
  approver_id: number | null;
  /** For how long it is open. */
  hours: number;
  opened_at: number;
  /** Null while it waits. */
  ends_at: number | null;
  /** How many searches there were, further pages included. */
  searches: number;
}

/** A message that was found. Moments are in seconds since 1970. */
export interface ComplianceMessage {
  id: number;
  sender_id: number;
  sender_full_name: string;
  timestamp: number;
  edited_at: number | null;
  stream_id: number | null;
  /** Name of the channel; null for direct messages, as `topic`. */
  stream: string | null;
  topic: string | null;
  /** The participants of a direct message; null in channels. */
  user_ids: number[] | null;
  /** As Markdown. */
  content: string;
  /** Before each edit, the newest first. */
  former_contents: string[];
  /** When it was deleted, if a legal hold keeps it. */
  deleted_at: number | null;
  /** Who deleted it; null also if retention did. */
  deleter_id: number | null;
}

export interface ConfirmParam {
  /** Title of the question, at most 75 characters. */
  title?: string;
  /** What happens after the click, at most 300 characters. */
  text?: string;
  /** Label that goes on with the click, at most 75 characters. Default: that of the client. */
  confirm?: string;
  /** Label that does not, likewise. */
  deny?: string;
}

/** A question that is asked before a click is sent. Empty texts are up to the client. */
export interface Confirmation {
  title?: string;
  text?: string;
  /** Label of the button that goes on. */
  confirm?: string;
  /** Label of the button that does not. */
  deny?: string;
}

/** Whether a user consents to the export of their private data. */
export interface Consent {
  user_id: number;
  consented: boolean;
  email_address_visibility: number;
}

/** All custom profile fields; values of a removed field are removed with it. */
export interface CustomProfileFieldsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "custom_profile_fields";
  fields: ProfileField[];
}

export interface DefaultChannelGroup {
  id: number;
  name: string;
  description: string;
  streams: number[];
}

/** The new list of all groups. */
export interface DefaultStreamGroupsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "default_stream_groups";
  default_stream_groups: DefaultChannelGroup[];
}

/** The new list of default channels. */
export interface DefaultStreamsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "default_streams";
  default_streams: number[];
}

export type DeleteMessageEvent = {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "delete_message";
  message_type: "private" | "stream";
  stream_id?: number;
  topic?: string;
  message_ids: number[];
} | {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "delete_message";
  message_type: "private" | "stream";
  stream_id?: number;
  topic?: string;
  message_id: number;
};

export interface DeletedBot {
  user_id: number;
}

export interface DeletedChannel {
  stream_id: number;
}

/** What is deleted with the account: of the user, and of all bots of the user. */
export interface DeletionPart {
  /** The name, which becomes `Deleted user` with the id, the picture, the status, the time zone and the answers to custom profile fields. */
  delete_profile?: boolean;
  /** The messages in public channels. */
  delete_public_channel_messages?: boolean;
  /** The messages in private channels, also in those that the caller may not see. */
  delete_private_channel_messages?: boolean;
  /** The direct messages. */
  delete_direct_messages?: boolean;
}

export interface Delivery {
  /** The last part of the address that it came to. */
  service: string;
  /** `message`, `ignored` or `unknown` (of which nothing is posted), `malformed` or `refused` (not signed with the bot's secret). */
  outcome: string;
  received_at: number;
}

export interface DescribedTopic {
  /** The empty topic is the empty string, for all clients. */
  topic: string;
  /** In Markdown. In events empty: the topic has none any more, or is not there any more. */
  description: string;
  rendered_description: string;
}

export interface DevUser {
  email: string;
  realm_url: string;
  realm_uri: string;
}

export interface DeviceAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "device";
  op: "add";
  device_id: number;
}

export type DeviceEvent = DeviceAddEvent | DeviceRemoveEvent | DeviceUpdateEvent;

export interface DeviceRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "device";
  op: "remove";
  device_id: number;
}

/** The changed fields of a push registration; null clears a field. */
export interface DeviceUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "device";
  op: "update";
  device_id: number;
  push_key_id?: number | null;
  push_token_id?: string | null;
  pending_push_token_id?: string | null;
  push_token_last_updated_timestamp?: number | null;
  push_registration_error_code?: string | null;
}

/** Users and groups of a permission. */
export interface DirectGroupParam {
  /** User ids. */
  direct_members: number[];
  /** A new value of a permission, and the one that the client expects. */
  direct_subgroups: number[];
}

/** A permission's value with users and groups, rather than one group. */
export interface DirectMembers {
  direct_members: number[];
  direct_subgroups: number[];
}

/** Among which people a direct message is edited. */
export interface DirectPlace {
  type: "direct";
  user_ids: number[];
}

/** A draft in its wire form. */
export interface Draft {
  id: number;
  type: string;
  to: number[];
  topic: string;
  content: string;
  timestamp: number;
}

export interface DraftsAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "drafts";
  op: "add";
  drafts: Draft[];
}

export type DraftsEvent = DraftsAddEvent | DraftsRemoveEvent | DraftsUpdateEvent;

export interface DraftsRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "drafts";
  op: "remove";
  draft_id: number;
}

export interface DraftsUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "drafts";
  op: "update";
  draft: Draft;
}

/** An edit or a move of a message. */
export interface EditHistoryEntry {
  timestamp: number;
  user_id: number | null;
  prev_content?: string;
  prev_rendered_content?: string;
  topic?: string;
  prev_topic?: string;
  stream?: number;
  prev_stream?: number;
}

export interface EmbeddedBotKind {
  name: string;
  config: Record<string, string>;
}

export interface EmojiChange {
  deactivated: boolean;
}

export interface EmojiSetChoice {
  key: string;
  text: string;
}

export interface ErrorAnswer {
  result: "error";
  /** For people. */
  msg: string;
  code:
    | "ADMIN_ACTION_REQUIRED"
    | "ANOMALOUS_WEBHOOK_PAYLOAD"
    | "AUTHENTICATION_FAILED"
    | "BAD_EVENT_QUEUE_ID"
    | "BAD_IMAGE"
    | "BAD_NARROW"
    | "BAD_REQUEST"
    | "CANNOT_DEACTIVATE_GROUP_IN_USE"
    | "CANNOT_DEACTIVATE_LAST_USER"
    | "CHANNEL_ALREADY_EXISTS"
    | "CSRF_FAILED"
    | "EXPECTATION_MISMATCH"
    | "FAILED_TO_CONNECT_BOUNCER"
    | "FILES_NOT_READY"
    | "INTERNAL_SERVER_ERROR"
    | "INTERNAL_SERVER_ERROR_ON_BOUNCER"
    | "INVALID_API_KEY"
    | "INVALID_JSON"
    | "INVALID_PUSH_DEVICE_TOKEN"
    | "INVALID_REMOTE_PUSH_DEVICE_TOKEN"
    | "INVALID_VIDEO_CALL_PROVIDER_TOKEN"
    | "INVALID_WEBHOOK_SIGNATURE"
    | "INVITATION_FAILED"
    | "MESSAGES_REFUSED"
    | "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED"
    | "NONEXISTENT_SUBDOMAIN"
    | "NO_ACTIVE_PUSH_DEVICE"
    | "PASSWORD_AUTH_DISABLED"
    | "PICTURES_NOT_READY"
    | "PUSH_SERVICE_NOT_CONFIGURED"
    | "RATE_LIMIT_HIT"
    | "REACTION_ALREADY_EXISTS"
    | "REACTION_DOES_NOT_EXIST"
    | "REALM_DEACTIVATED"
    | "REALM_UPLOAD_QUOTA"
    | "REQUEST_CONFUSING_VAR"
    | "REQUEST_VARIABLE_INVALID"
    | "REQUEST_VARIABLE_MISSING"
    | "SECOND_FACTOR_REQUIRED"
    | "SERVER_NOT_READY"
    | "STREAM_DOES_NOT_EXIST"
    | "STREAM_WILDCARD_MENTION_NOT_ALLOWED"
    | "SYSTEM_GROUP_REQUIRED"
    | "TOPIC_WILDCARD_MENTION_NOT_ALLOWED"
    | "UNAUTHORIZED"
    | "UNAUTHORIZED_PRINCIPAL"
    | "USER_DEACTIVATED";
}

/** A channel with messages that would be deleted. */
export interface ExpiringChannel {
  stream_id: number;
  messages: number;
}

/** A kind of account that a custom profile field may name. */
export interface ExternalAccount {
  name: string;
  text: string;
  hint: string;
  url_pattern: string;
}

/** A sign-in method at another site. */
export interface ExternalMethod {
  name: string;
  display_name: string;
  display_icon: string | null;
  login_url: string;
  signup_url: string;
}

/** A type of custom profile fields. */
export interface FieldKind {
  id: number;
  name: string;
}

/** Changed fields of a folder. */
export interface FolderChange {
  name?: string;
  description?: string;
  rendered_description?: string;
  is_archived?: boolean;
}

export interface GifRating {
  name: string;
  id: number;
}

export interface GivenDraft {
  /** `stream` for a channel, `private` for a direct message, empty while there is no recipient. */
  type: "" | "stream" | "private";
  /** The channel's id alone, or the ids of the users; empty while there is no recipient. */
  to: number[];
  /** Topic; empty for direct messages. */
  topic: string;
  /** Text so far, in Markdown. */
  content: string;
  /** When it was last edited, as a Unix time in seconds. Default: now. */
  timestamp?: number | null;
}

export interface GoneAttachment {
  id: number;
}

/** Changed fields of a group. */
export interface GroupChange {
  name?: string;
  description?: string;
  deactivated?: boolean;
  can_add_members_group?: number | DirectMembers;
  can_join_group?: number | DirectMembers;
  can_leave_group?: number | DirectMembers;
  can_manage_group?: number | DirectMembers;
  can_mention_group?: number | DirectMembers;
  can_remove_members_group?: number | DirectMembers;
}

/** Another value of a permission, and the one that the client knows. */
export interface GroupUpdateParam {
  /** Value that the permission is to have. */
  new: number | DirectGroupParam;
  /** Value that the client believes it has; the change is refused if it has another one. */
  old?: number | DirectGroupParam | null;
}

/** Whether the user can create Webex calls, delivered to this user. */
export interface HasWebexTokenEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "has_webex_token";
  value: boolean;
}

/** Whether the user can create Zoom calls, delivered to this user. */
export interface HasZoomTokenEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "has_zoom_token";
  value: boolean;
}

/** Nothing has happened: the poll waited long enough. */
export interface HeartbeatEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "heartbeat";
}

/** A message that holds a file. */
export interface HoldingMessage {
  id: number;
  date_sent: number;
}

/** What a file contains, or what was imported of it. */
export interface ImportContents {
  /** Numbers of records by what they are, in words. */
  imported: Record<string, number>;
  remarks: ImportRemark[];
  /** The words of `imported` in the language of the reader. */
  labels: Record<string, string>;
}

/** Records of the file that were changed or left out, for one reason. */
export interface ImportRemark {
  /** In English, so that programs can recognize it. */
  reason: string;
  count: number;
  /** Names from the file, some with a reason in the language of the reader. */
  examples: string[];
  /** The reason in the language of the reader. */
  text: string;
}

/** An incoming webhook that the server understands. */
export interface IncomingWebhookKind {
  name: string;
  display_name: string;
  all_event_types: string[] | null;
  config_options: unknown[];
  url_options: unknown[];
}

/** A service. */
export interface IntegrationResult {
  /** The last part of its address, `/api/v1/external/NAME`. */
  name: string;
  display_name: string;
  category: string;
  /** Steps to connect it, in Markdown; `{url}` stands for the address. */
  setup: string[];
  /** Names for `only_events` and `exclude_events`; empty if there is one event alone. */
  events: string[];
  options: OptionResult[];
  /** Where the service has the secret with which it signs, in Markdown; empty if it does not. */
  signing_step: string;
}

/** An invitation in its wire form. */
export interface Invitation {
  id: number;
  invited_by_user_id: number;
  invited: number;
  expiry_date: number | null;
  invited_as: number;
  is_multiuse: boolean;
  stream_ids: number[];
  group_ids: number[];
  include_realm_default_subscriptions: boolean;
  email?: string;
  notify_referrer_on_join?: boolean;
  /** Left out for an invitation by email, and for keys without access to secrets. */
  link_url?: string;
}

export interface InvitesChangedEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "invites_changed";
}

/** A user's presence at one kind of client, in the legacy form. */
export interface LegacyPresence {
  client: string;
  status: "active" | "idle";
  timestamp: number;
  /** Left out of the aggregate of all clients. */
  pushable?: boolean;
}

export interface Linkifier {
  id: number;
  pattern: string;
  url_template: string;
  example_input: string | null;
  reverse_template: string | null;
  alternative_url_templates: string[];
}

/** A channel in a list that may include whether it is a default channel. */
export interface ListedChannel {
  stream_id: number;
  name: string;
  description: string;
  rendered_description: string;
  date_created: number;
  creator_id: number | null;
  invite_only: boolean;
  is_web_public: boolean;
  history_public_to_subscribers: boolean;
  is_archived: boolean;
  topics_policy: string;
  folder_id: number | null;
  message_retention_days: number | null;
  /** Whether first-time subscribers get push notifications, whatever their own default is. Unset only in events of the previous release. */
  default_push_notifications?: boolean;
  first_message_id: number | null;
  is_recently_active: boolean;
  /** null: too young for an average. */
  stream_weekly_traffic: number | null;
  subscriber_count: number;
  stream_post_policy: number;
  is_announcement_only: boolean;
  can_add_subscribers_group: number | DirectMembers;
  can_administer_channel_group: number | DirectMembers;
  /** Unset only in events of the previous release. */
  can_create_topic_group?: number | DirectMembers;
  can_delete_any_message_group: number | DirectMembers;
  can_delete_own_message_group: number | DirectMembers;
  can_move_messages_out_of_channel_group: number | DirectMembers;
  can_move_messages_within_channel_group: number | DirectMembers;
  /** Unset for clients without the capability `pins`, and in events of the previous release. */
  can_pin_group?: number | DirectMembers;
  can_remove_subscribers_group: number | DirectMembers;
  can_resolve_topics_group: number | DirectMembers;
  can_send_message_group: number | DirectMembers;
  can_subscribe_group: number | DirectMembers;
  is_default?: boolean;
}

export interface Match {
  match_content: string;
  match_subject: string;
}

/** A message for a client with some view. Unset fields are left out. Not frozen and not by keyword: a page of history makes a hundred. */
export interface Message {
  id: number;
  type: "private" | "stream";
  avatar_url: string | null;
  client: string;
  content: string;
  content_type: "text/html" | "text/x-markdown";
  is_me_message: boolean;
  reactions: MessageReaction[];
  recipient_id: number;
  sender_email: string;
  sender_full_name: string;
  sender_id: number;
  sender_realm_str: string;
  submessages: Submessage[];
  timestamp: number;
  topic_links: TopicLink[];
  /** The channel's name, or the users of a direct message. */
  display_recipient: string | Recipient[];
  stream_id?: number;
  subject: string;
  flags?: string[];
  last_edit_timestamp?: number;
  last_moved_timestamp?: number;
  edit_history?: EditHistoryEntry[];
  match_content?: string;
  match_subject?: string;
  /** If there are any: only for clients that ask for them. */
  buttons?: ShownButton[];
}

/** All buttons that a message has now. */
export interface MessageButtonsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "message_buttons";
  message_id: number;
  buttons: ShownButton[];
}

/** Details of a message that has become unread, for clients to count it. */
export interface MessageDetails {
  type: "private" | "stream";
  mentioned?: boolean;
  stream_id?: number | null;
  topic?: string | null;
  user_ids?: number[] | null;
  unmuted_stream_msg?: boolean | null;
}

/** A reaction to a message, in the form of messages. */
export interface MessageReaction {
  emoji_name: string;
  emoji_code: string;
  reaction_type: string;
  user_id: number;
  user: Recipient;
}

/** A message as it was from one change to the next. */
export interface MessageState {
  timestamp: number;
  user_id: number | null;
  topic: string;
  content: string;
  rendered_content: string;
  prev_content?: string;
  prev_rendered_content?: string;
  content_html_diff?: string;
  prev_topic?: string;
  prev_stream?: number;
  stream?: number;
}

/** A sign-in method in the form of clients. */
export interface MethodParam {
  /** Whether the method may be used. */
  enabled: boolean;
}

/** When a user was active and seen last, as Unix times. */
export interface ModernPresence {
  active_timestamp: number;
  idle_timestamp: number;
}

/** All muted topics: channel, topic, and Unix time of muting. For older clients. */
export interface MutedTopicsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "muted_topics";
  muted_topics: Array<[string, string, number]>;
}

/** A muted user, and the time of muting. */
export interface MutedUser {
  id: number;
  timestamp: number;
}

/** All muted users. */
export interface MutedUsersEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "muted_users";
  muted_users: MutedUser[];
}

export interface NamedApiKey {
  key_id: number;
  name: string;
  hint: string;
  scopes: string[];
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
}

/** A view in its wire form; views named by the client have no name here. */
export interface NavigationView {
  fragment: string;
  is_pinned: boolean;
  name?: string;
}

export interface NavigationViewAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "navigation_view";
  op: "add";
  navigation_view: NavigationView;
}

export type NavigationViewEvent =
  | NavigationViewAddEvent
  | NavigationViewRemoveEvent
  | NavigationViewUpdateEvent;

export interface NavigationViewRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "navigation_view";
  op: "remove";
  fragment: string;
}

export interface NavigationViewUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "navigation_view";
  op: "update";
  fragment: string;
  /** The changed fields. */
  data: Record<string, unknown>;
}

/** A visible channel that the user has never been subscribed to. */
export interface NeverSubscribedChannel {
  stream_id: number;
  name: string;
  description: string;
  rendered_description: string;
  date_created: number;
  creator_id: number | null;
  invite_only: boolean;
  is_web_public: boolean;
  history_public_to_subscribers: boolean;
  is_archived: boolean;
  topics_policy: string;
  folder_id: number | null;
  message_retention_days: number | null;
  /** Whether first-time subscribers get push notifications, whatever their own default is. Unset only in events of the previous release. */
  default_push_notifications?: boolean;
  first_message_id: number | null;
  is_recently_active: boolean;
  /** null: too young for an average. */
  stream_weekly_traffic: number | null;
  subscriber_count: number;
  stream_post_policy: number;
  is_announcement_only: boolean;
  can_add_subscribers_group: number | DirectMembers;
  can_administer_channel_group: number | DirectMembers;
  /** Unset only in events of the previous release. */
  can_create_topic_group?: number | DirectMembers;
  can_delete_any_message_group: number | DirectMembers;
  can_delete_own_message_group: number | DirectMembers;
  can_move_messages_out_of_channel_group: number | DirectMembers;
  can_move_messages_within_channel_group: number | DirectMembers;
  /** Unset for clients without the capability `pins`, and in events of the previous release. */
  can_pin_group?: number | DirectMembers;
  can_remove_subscribers_group: number | DirectMembers;
  can_resolve_topics_group: number | DirectMembers;
  can_send_message_group: number | DirectMembers;
  can_subscribe_group: number | DirectMembers;
  subscribers?: number[];
  partial_subscribers?: number[];
}

/** A new message. */
export interface NewMessageEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "message";
  message: Message;
  /** The reader's own flags of the message. */
  flags: string[];
  /** `local_id` of the request, in the queue that it named. */
  local_message_id?: string;
}

/** A reaction of which the sender of the message is notified. */
export interface NotifiedReaction {
  user_id: number;
  emoji_name: string;
  emoji_code: string;
  reaction_type: string;
}

/** A compliance officer. */
export interface Officer {
  user_id: number;
  /** The owner who appointed the officer. */
  appointed_by: number;
  /** In seconds since 1970. */
  appointed_at: number;
}

/** Something that clients explain once. */
export interface OnboardingStep {
  type: "one_time_notice";
  name: string;
}

/** The steps that are still due. */
export interface OnboardingStepsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "onboarding_steps";
  onboarding_steps: OnboardingStep[];
}

/** A user's presence, in the present form and in that of older clients. */
export interface OnePresence {
  active_timestamp: number;
  idle_timestamp: number;
  aggregated: ClientPresence;
  website: ClientPresence;
}

/** A parameter of an address, beside those of all integrations. */
export interface OptionResult {
  name: string;
  label: string;
  /** Whether it is true or false; else it is a text. */
  is_flag: boolean;
  /** Whether a flag that the address does not have is true. */
  is_on: boolean;
}

export interface OwnBot {
  default_all_public_streams: boolean;
  default_events_register_stream: string | null;
  default_sending_stream: string | null;
  username: string;
  full_name: string;
  api_key: string;
  avatar_url: string | null;
}

/** The personal settings of the user, and the available choices. */
export interface OwnSettings {
  color_scheme: 1 | 2 | 3;
  default_language: string;
  demote_inactive_streams: 1 | 2 | 3;
  display_emoji_reaction_users: boolean;
  emojiset: "google" | "google-blob" | "text" | "twitter";
  enter_sends: boolean;
  fluid_layout_width: boolean;
  hide_ai_features: boolean;
  high_contrast_mode: boolean;
  left_side_userlist: boolean;
  starred_message_counts: boolean;
  translate_emoticons: boolean;
  /** null: the language's default. */
  twenty_four_hour_time: boolean | null;
  user_list_style: 1 | 2 | 3;
  web_animate_image_previews: "always" | "never" | "on_hover";
  web_channel_default_view: 1 | 2 | 3 | 4;
  web_escape_navigates_to_home_view: boolean;
  web_font_size_px: number;
  web_home_view: "all_messages" | "inbox" | "recent" | "recent_topics";
  web_inbox_show_channel_folders: boolean;
  web_left_sidebar_show_channel_folders: boolean;
  web_left_sidebar_unreads_count_summary: boolean;
  web_line_height_percent: number;
  web_mark_read_on_scroll_policy: 1 | 2 | 3;
  web_navigate_to_sent_message: boolean;
  web_stream_unreads_count_display_policy: 1 | 2 | 3;
  web_suggest_update_timezone: boolean;
  desktop_icon_count_display: 1 | 2 | 3 | 4;
  email_notifications_batching_period_seconds: number;
  enable_desktop_notifications: boolean;
  enable_digest_emails: boolean;
  enable_followed_topic_audible_notifications: boolean;
  enable_followed_topic_desktop_notifications: boolean;
  enable_followed_topic_email_notifications: boolean;
  enable_followed_topic_push_notifications: boolean;
  enable_followed_topic_wildcard_mentions_notify: boolean;
  enable_login_emails: boolean;
  enable_marketing_emails: boolean;
  enable_offline_email_notifications: boolean;
  enable_offline_push_notifications: boolean;
  enable_online_push_notifications: boolean;
  /** Only for clients with the capability `reaction_notifications`. */
  enable_reaction_notifications?: boolean;
  enable_sounds: boolean;
  enable_stream_audible_notifications: boolean;
  enable_stream_desktop_notifications: boolean;
  enable_stream_email_notifications: boolean;
  enable_stream_push_notifications: boolean;
  message_content_in_email_notifications: boolean;
  notification_sound: string;
  pm_content_in_desktop_notifications: boolean;
  realm_name_in_email_notifications_policy: 1 | 2 | 3;
  wildcard_mentions_notify: boolean;
  automatically_follow_topics_policy: 1 | 2 | 3 | 4;
  automatically_follow_topics_where_mentioned: boolean;
  automatically_unmute_topics_in_muted_streams_policy: 1 | 2 | 3 | 4;
  enable_drafts_synchronization: boolean;
  resolved_topic_notice_auto_read_policy: "always" | "except_followed" | "never";
  allow_private_data_export: boolean;
  email_address_visibility: 1 | 2 | 3 | 4 | 5;
  presence_enabled: boolean;
  receives_typing_notifications: boolean;
  send_private_typing_notifications: boolean;
  send_read_receipts: boolean;
  send_stream_typing_notifications: boolean;
  available_notification_sounds: string[];
  emojiset_choices: EmojiSetChoice[];
  timezone: string;
}

/** The values that a permission may have. */
export interface PermissionRuleFields {
  require_system_group: boolean;
  allow_internet_group: boolean;
  allow_nobody_group: boolean;
  allow_everyone_group: boolean;
  default_group_name: string;
  allowed_system_groups: string[];
  default_for_system_groups?: string;
}

/** Changed fields of a user; the others are unset. */
export interface PersonChange {
  user_id: number;
  full_name?: string;
  role?: number;
  is_active?: boolean;
  is_imported_stub?: boolean;
  is_deleted?: boolean;
  date_joined?: string;
  timezone?: string;
  email?: string;
  new_email?: string;
  delivery_email?: string | null;
  bot_owner_id?: number;
  avatar_url?: string | null;
  avatar_url_medium?: string | null;
  avatar_source?: string;
  avatar_version?: number;
  custom_profile_field?: ChangedValue;
}

export interface PinnedMessages {
  stream_id: number;
  message_ids: number[];
}

/** All pinned messages of a channel that its reader may read. */
export interface PinnedMessagesEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "pinned_messages";
  stream_id: number;
  message_ids: number[];
}

export interface PinnedTopics {
  stream_id: number;
  /** In the order of pinning; the empty topic is the empty string. */
  topics: string[];
}

/** All pinned topics of a channel that its reader may know of, in the order of pinning. */
export interface PinnedTopicsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "pinned_topics";
  stream_id: number;
  /** The empty topic is the empty string, for all clients. */
  topics: string[];
}

export interface Playground {
  id: number;
  name: string;
  pygments_language: string;
  url_template: string;
}

export type PresenceEvent = {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "presence";
  presences: Record<string, ModernPresence>;
} | {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "presence";
  user_id: number;
  email?: string;
  server_timestamp: number;
  presence: Record<string, LegacyPresence>;
};

/** A field in its wire form. */
export interface ProfileField {
  id: number;
  type: number;
  name: string;
  hint: string;
  field_data: string;
  order: number;
  required: boolean;
  editable_by_user: boolean;
  display_in_profile_summary: boolean;
  use_for_user_matching: boolean;
}

/** A user's value of a profile field. */
export interface ProfileValue {
  value: string;
  rendered_value?: string;
}

/** One setting of one's subscription to a channel. */
export interface PropertyParam {
  /** Id of the channel. */
  stream_id: number;
  /** Setting, such as `color`, `is_muted`, `pin_to_top`, or `push_notifications`. */
  property: string;
  /** true or false; for `color` the color. */
  value: boolean | string;
}

/** A device in register, under the id that its client gave its account. */
export interface PushDevice {
  status: "active" | "failed" | "pending";
  error_code: string | null;
}

/** The registration with the bouncer is pending, has succeeded, or has failed. */
export interface PushDeviceEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "push_device";
  /** A 64-bit number as text: more than clients' numbers hold. */
  push_account_id: string;
  status: "active" | "failed" | "pending";
  error_code?: string;
}

export interface ReactionAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "reaction";
  message_id: number;
  user_id: number;
  user: Reactor;
  emoji_name: string;
  emoji_code: string;
  reaction_type: string;
  op: "add";
}

export type ReactionEvent = ReactionAddEvent | ReactionRemoveEvent;

/** The new reactions to a message of the user, once for all that came within a window. */
export interface ReactionNotificationEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "reaction_notification";
  message_id: number;
  /** Of several notifications of a message, the newest has the highest one. */
  window_id: number;
  /** The number of users who have reacted. */
  user_count: number;
  /** The first of them, in their order. */
  reactions: NotifiedReaction[];
}

export interface ReactionRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "reaction";
  message_id: number;
  user_id: number;
  user: Reactor;
  emoji_name: string;
  emoji_code: string;
  reaction_type: string;
  op: "remove";
}

/** The user who reacted, in the form of older clients. */
export interface Reactor {
  email: string;
  full_name: string;
  user_id: number;
}

/** A bot that the reader may manage from now on. */
export interface RealmBotAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_bot";
  op: "add";
  bot: Bot;
}

/** The audience may not see the bot any more. */
export interface RealmBotDeleteEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_bot";
  op: "delete";
  bot: DeletedBot;
}

export type RealmBotEvent = RealmBotAddEvent | RealmBotDeleteEvent | RealmBotUpdateEvent;

export interface RealmBotUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_bot";
  op: "update";
  bot: BotChange;
}

export interface RealmDeactivatedEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm";
  op: "deactivated";
  realm_id: number;
}

export interface RealmDomain {
  domain: string;
  allow_subdomains: boolean;
}

export interface RealmDomainsAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_domains";
  op: "add";
  realm_domain: RealmDomain;
}

export interface RealmDomainsChangeEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_domains";
  op: "change";
  realm_domain: RealmDomain;
}

export type RealmDomainsEvent =
  | RealmDomainsAddEvent
  | RealmDomainsChangeEvent
  | RealmDomainsRemoveEvent;

export interface RealmDomainsRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_domains";
  op: "remove";
  domain: string;
}

/** An emoji in its wire form. */
export interface RealmEmoji {
  id: string;
  name: string;
  source_url: string;
  still_url: string | null;
  deactivated: boolean;
  author_id: number;
}

/** A new custom emoji. */
export interface RealmEmojiAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_emoji";
  op: "add";
  emoji: RealmEmoji;
}

export type RealmEmojiEvent = RealmEmojiAddEvent | RealmEmojiUpdateEvent | RealmEmojiUpdateOneEvent;

/** All custom emoji by id, for clients without `individual_emoji_changes`. */
export interface RealmEmojiUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_emoji";
  op: "update";
  realm_emoji: Record<string, RealmEmoji>;
}

/** A changed custom emoji. */
export interface RealmEmojiUpdateOneEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_emoji";
  op: "update_one";
  emoji_id: string;
  data: EmojiChange;
}

export type RealmEvent = RealmDeactivatedEvent | RealmUpdateEvent | RealmUpdateDictEvent;

/** A requested export, in the form for administrators. */
export interface RealmExport {
  id: number;
  acting_user_id: number;
  export_time: number;
  /** Downloads the file without further authentication. */
  export_url: string | null;
  deleted_timestamp: number | null;
  failed_timestamp: number | null;
  pending: boolean;
  export_type: "full_with_consent" | "public";
  /** Whether it was made before the organization came to this server, which has no file of it. */
  export_from_prior_server: boolean;
}

/** A user's new consent to the export of their private data, or its withdrawal. */
export interface RealmExportConsentEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_export_consent";
  user_id: number;
  consented: boolean;
}

/** All exports, after any change. */
export interface RealmExportEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_export";
  exports: RealmExport[];
}

/** All linkifiers of the realm, in order; not for clients that do not support templates. */
export interface RealmLinkifiersEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_linkifiers";
  realm_linkifiers: Linkifier[];
}

/** All playgrounds of the realm. */
export interface RealmPlaygroundsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_playgrounds";
  realm_playgrounds: Playground[];
}

/** All slash commands of the realm, by name. */
export interface RealmSlashCommandsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_slash_commands";
  realm_slash_commands: ShownSlashCommand[];
}

/** New values of several settings, or of ones that are not simple values. */
export interface RealmUpdateDictEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm";
  op: "update_dict";
  property: "default" | "icon" | "logo" | "night_logo";
  data: Record<string, unknown>;
}

/** The new value of one setting, by its name in register without `realm_`. */
export interface RealmUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm";
  op: "update";
  property: string;
  value: boolean | number | string | null;
}

/** A new user, in the form for this audience. */
export interface RealmUserAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_user";
  op: "add";
  person: User;
}

export type RealmUserEvent = RealmUserAddEvent | RealmUserRemoveEvent | RealmUserUpdateEvent;

/** The audience may no longer know the user. */
export interface RealmUserRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_user";
  op: "remove";
  person: RemovedPerson;
}

export type RealmUserSettingsDefaultsEvent = RealmUserSettingsDefaultsUpdateEvent;

/** A changed default for new users; existing users keep their settings. */
export interface RealmUserSettingsDefaultsUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_user_settings_defaults";
  op: "update";
  property: string;
  value: boolean | number | string;
}

/** A change of a user. */
export interface RealmUserUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "realm_user";
  op: "update";
  person: PersonChange;
}

/** A direct-message conversation, by its other people. */
export interface RecentConversation {
  max_message_id: number;
  user_ids: number[];
}

/** A user in a direct-message group, in the form of messages. */
export interface Recipient {
  email: string;
  full_name: string;
  id: number;
  is_mirror_dummy: boolean;
}

/** The state that `POST /register` gives a client that asks for everything. */
export interface RegisterState {
  /** null for spectators: they get the state and no events. */
  queue_id: string | null;
  last_event_id: number;
  /** The position of the state in the organization's history: see `include_position` of `GET /messages`. */
  position: number;
  idle_queue_timeout_secs: number;
  service_feature_level: number;
  service_version: string;
  service_merge_base: string;
  zulip_feature_level: number;
  zulip_version: string;
  zulip_merge_base: string;
  realm_allow_message_editing: boolean;
  realm_avatar_changes_disabled: boolean;
  realm_default_avatar_source: "G" | "J";
  realm_default_code_block_language: string;
  realm_default_language: string;
  realm_digest_emails_enabled: boolean;
  realm_digest_weekday: 0 | 1 | 2 | 3 | 4 | 5 | 6;
  realm_disallow_disposable_email_addresses: boolean;
  realm_email_changes_disabled: boolean;
  realm_emails_restricted_to_domains: boolean;
  realm_empty_topic_display_name: string;
  realm_enable_guest_user_dm_warning: boolean;
  realm_enable_guest_user_indicator: boolean;
  realm_enable_read_receipts: boolean;
  realm_enable_spectator_access: boolean;
  realm_giphy_rating: 0 | 1 | 2 | 3 | 4 | 5;
  realm_icon_source: "G" | "U";
  realm_inline_image_preview: boolean;
  realm_inline_url_embed_preview: boolean;
  realm_invite_required: boolean;
  realm_jitsi_server_url: string | null;
  realm_logo_source: "D" | "U";
  realm_media_preview_size: 100 | 150 | 200;
  realm_message_content_allowed_in_email_notifications: boolean;
  realm_message_content_delete_limit_seconds: number | null;
  realm_message_content_edit_limit_seconds: number | null;
  realm_message_edit_history_visibility_policy: "all" | "moves" | "none";
  realm_message_retention_days: number;
  realm_moderation_request_channel_id: number;
  realm_move_messages_between_streams_limit_seconds: number | null;
  realm_move_messages_within_stream_limit_seconds: number | null;
  realm_name_changes_disabled: boolean;
  realm_new_stream_announcements_stream_id: number;
  realm_night_logo_source: "D" | "U";
  realm_org_type: 0 | 10 | 20 | 30 | 35 | 40 | 50 | 60 | 70 | 80 | 90 | 100 | 1000;
  realm_plan_type: number;
  realm_presence_disabled: boolean;
  realm_push_notifications_enabled: boolean;
  realm_push_notifications_enabled_end_timestamp: number | null;
  realm_require_e2ee_push_notifications: boolean;
  realm_require_unique_names: boolean;
  realm_second_factor_after_provider: boolean;
  realm_second_factor_grace_days: number;
  realm_second_factor_required_of:
    | "administrators"
    | "everyone"
    | "members"
    | "moderators"
    | "nobody"
    | "owners";
  realm_send_channel_events_messages: boolean;
  realm_send_welcome_emails: boolean;
  realm_signup_announcements_stream_id: number;
  realm_topics_policy: "allow_empty_topic" | "disable_empty_topic";
  realm_upload_quota_mib: number | null;
  realm_video_chat_provider: 0 | 1 | 3 | 4 | 5 | 6 | 7 | 8;
  realm_waiting_period_threshold: number;
  realm_want_advertise_in_communities_directory: boolean;
  realm_welcome_message_custom_text: string;
  realm_zulip_update_announcements_stream_id: number;
  realm_can_access_all_users_group: number | DirectMembers;
  realm_can_add_custom_emoji_group: number | DirectMembers;
  realm_can_add_subscribers_group: number | DirectMembers;
  realm_can_create_bots_group: number | DirectMembers;
  realm_can_create_groups: number | DirectMembers;
  realm_can_create_private_channel_group: number | DirectMembers;
  realm_can_create_public_channel_group: number | DirectMembers;
  realm_can_create_web_public_channel_group: number | DirectMembers;
  realm_can_create_write_only_bots_group: number | DirectMembers;
  realm_can_delete_any_message_group: number | DirectMembers;
  realm_can_delete_own_message_group: number | DirectMembers;
  realm_can_invite_users_group: number | DirectMembers;
  realm_can_manage_all_groups: number | DirectMembers;
  realm_can_manage_billing_group: number | DirectMembers;
  realm_can_mention_many_users_group: number | DirectMembers;
  realm_can_move_messages_between_channels_group: number | DirectMembers;
  realm_can_move_messages_between_topics_group: number | DirectMembers;
  realm_can_pin_group?: number | DirectMembers;
  realm_can_resolve_topics_group: number | DirectMembers;
  realm_can_set_delete_message_policy_group: number | DirectMembers;
  realm_can_set_topics_policy_group: number | DirectMembers;
  realm_can_summarize_topics_group: number | DirectMembers;
  realm_create_multiuse_invite_group: number | DirectMembers;
  realm_direct_message_initiator_group: number | DirectMembers;
  realm_direct_message_permission_group: number | DirectMembers;
  realm_workplace_users_group: number | DirectMembers;
  realm_icon_url: string;
  realm_logo_url: string;
  realm_night_logo_url: string;
  realm_name: string;
  realm_description: string;
  realm_date_created: number;
  realm_url: string;
  realm_uri: string;
  realm_bot_domain: string;
  realm_uuid: string;
  realm_available_video_chat_providers: Record<string, VideoChatProvider>;
  realm_default_external_accounts: Record<string, ExternalAccount>;
  realm_is_zephyr_mirror_realm: boolean;
  upgrade_text_for_wide_organization_logo: string;
  zulip_plan_is_not_limited: boolean;
  realm_authentication_methods: Record<string, SignInMethod>;
  realm_email_auth_enabled: boolean;
  realm_password_auth_enabled: boolean;
  realm_create_private_stream_policy: number;
  realm_create_public_stream_policy: number;
  realm_create_web_public_stream_policy: number;
  realm_wildcard_mention_policy: number;
  realm_allow_edit_history: boolean;
  realm_mandatory_topics: boolean;
  realm_gif_rating_policy: number;
  gif_rating_policy_options: Record<string, GifRating>;
  giphy_rating_options: Record<string, GifRating>;
  realm_owner_full_content_access: boolean;
  server_report_message_types: ReportType[];
  development_environment: boolean;
  server_web_public_streams_enabled: boolean;
  server_generation: number;
  server_jitsi_server_url: string | null;
  server_inline_image_preview: boolean;
  server_inline_url_embed_preview: boolean;
  server_avatar_changes_disabled: boolean;
  server_name_changes_disabled: boolean;
  server_needs_upgrade: boolean;
  server_can_summarize_topics: boolean;
  server_thumbnail_formats: ThumbnailFormat[];
  server_min_deactivated_realm_deletion_days: number | null;
  server_max_deactivated_realm_deletion_days: number | null;
  settings_send_digest_emails: boolean;
  max_file_upload_size_mib: number;
  server_emoji_data_url: string;
  jitsi_server_url: string | null;
  event_queue_longpoll_timeout_seconds: number;
  max_avatar_file_size_mib: number;
  max_bulk_new_subscription_messages: number;
  max_channel_folder_description_length: number;
  max_channel_folder_name_length: number;
  max_icon_file_size_mib: number;
  max_logo_file_size_mib: number;
  max_message_length: number;
  max_reminder_note_length: number;
  max_stream_description_length: number;
  max_stream_name_length: number;
  max_topic_length: number;
  password_max_length: number;
  password_min_guesses: number;
  password_min_length: number;
  server_presence_offline_threshold_seconds: number;
  server_presence_ping_interval_seconds: number;
  server_supported_permission_settings: SupportedPermissions;
  server_typing_started_expiry_period_milliseconds: number;
  server_typing_started_wait_period_milliseconds: number;
  server_typing_stopped_wait_period_milliseconds: number;
  realm_billing: Billing;
  realm_domains: RealmDomain[];
  /** By id. */
  realm_emoji: Record<string, RealmEmoji>;
  streams: Channel[];
  realm_default_streams: number[];
  channel_folders: ChannelFolder[];
  realm_default_stream_groups: DefaultChannelGroup[];
  subscriptions: Subscription[];
  /** Channels that the user has left. */
  unsubscribed: Subscription[];
  never_subscribed: NeverSubscribedChannel[];
  user_topics: UserTopic[];
  /** Channel, topic and Unix time: only for clients that do not ask for `user_topic`. */
  muted_topics?: Array<[string, string, number]>;
  user_id: number;
  email: string;
  delivery_email: string;
  full_name: string;
  avatar_source: string;
  avatar_url: string;
  avatar_url_medium: string;
  is_owner: boolean;
  is_admin: boolean;
  is_moderator: boolean;
  is_guest: boolean;
  can_create_public_streams: boolean;
  can_create_private_streams: boolean;
  can_create_streams: boolean;
  can_create_web_public_streams: boolean;
  can_invite_others_to_realm: boolean;
  can_subscribe_other_users: boolean;
  realm_users: User[];
  realm_non_active_users: User[];
  cross_realm_bots: User[];
  realm_user_groups: UserGroup[];
  realm_linkifiers: Linkifier[];
  realm_filters: Array<[string, string, number]>;
  realm_playgrounds: Playground[];
  alert_words: string[];
  /** Those that the user may manage. */
  realm_bots: Bot[];
  realm_incoming_webhook_bots: IncomingWebhookKind[];
  realm_embedded_bots: EmbeddedBotKind[];
  user_settings: OwnSettings;
  color_scheme?: 1 | 2 | 3;
  default_language?: string;
  demote_inactive_streams?: 1 | 2 | 3;
  emojiset?: "google" | "google-blob" | "text" | "twitter";
  enable_drafts_synchronization?: boolean;
  enter_sends?: boolean;
  fluid_layout_width?: boolean;
  high_contrast_mode?: boolean;
  left_side_userlist?: boolean;
  starred_message_counts?: boolean;
  timezone?: string;
  translate_emoticons?: boolean;
  twenty_four_hour_time?: boolean | null;
  web_home_view?: "all_messages" | "inbox" | "recent" | "recent_topics";
  emojiset_choices?: EmojiSetChoice[];
  desktop_icon_count_display?: 1 | 2 | 3 | 4;
  email_notifications_batching_period_seconds?: number;
  enable_desktop_notifications?: boolean;
  enable_digest_emails?: boolean;
  enable_login_emails?: boolean;
  enable_marketing_emails?: boolean;
  enable_offline_email_notifications?: boolean;
  enable_offline_push_notifications?: boolean;
  enable_online_push_notifications?: boolean;
  enable_sounds?: boolean;
  enable_stream_audible_notifications?: boolean;
  enable_stream_desktop_notifications?: boolean;
  enable_stream_email_notifications?: boolean;
  enable_stream_push_notifications?: boolean;
  message_content_in_email_notifications?: boolean;
  notification_sound?: string;
  pm_content_in_desktop_notifications?: boolean;
  presence_enabled?: boolean;
  realm_name_in_email_notifications_policy?: 1 | 2 | 3;
  wildcard_mentions_notify?: boolean;
  available_notification_sounds?: string[];
  realm_user_settings_defaults: SettingDefaults;
  /** -1: there is none. */
  max_message_id: number;
  stop_words: string[];
  unread_msgs: UnreadMessages;
  starred_messages: number[];
  recent_private_conversations: RecentConversation[];
  navigation_views: NavigationView[];
  /** Of channels that the user is subscribed to. Only for clients with the capability. */
  pinned_messages?: PinnedMessages[];
  /** Of channels that the user is subscribed to. Only for clients with the capability. */
  pinned_topics?: PinnedTopics[];
  /** Of channels that the user is subscribed to. Only for clients with the capability. */
  topic_descriptions?: SubscribedTopicDescription[];
  drafts: Draft[];
  saved_snippets: SavedSnippet[];
  muted_users: MutedUser[];
  /** By user id, with `slim_presence`; otherwise by email address, and then by client. */
  presences: Record<string, ModernPresence> | Record<string, Record<string, LegacyPresence>>;
  presence_last_update_id: number;
  server_timestamp: number;
  /** By the account's id, a 64-bit number as text. */
  push_devices: Record<string, PushDevice>;
  /** By id. */
  devices: Record<string, ShownClientDevice>;
  custom_profile_fields: ProfileField[];
  custom_profile_field_types: Record<string, FieldKind>;
  user_status: Record<string, UserStatus>;
  reminders: Reminder[];
  scheduled_messages: ScheduledMessage[];
  has_webex_token: boolean;
  has_zoom_token: boolean;
  giphy_api_key: string;
  klipy_api_key: string;
  tenor_api_key: string;
  /** Only for clients with the capability. */
  realm_slash_commands?: ShownSlashCommand[];
  onboarding_steps: OnboardingStep[];
  navigation_tour_video_url: string | null;
  /** In base64 of URLs; the same as long as the server has its database. */
  web_push_public_key: string;
}

/** A reminder in its wire form. */
export interface Reminder {
  reminder_id: number;
  type: "private";
  to: number[];
  content: string;
  rendered_content: string;
  scheduled_delivery_timestamp: number;
  failed: boolean;
  reminder_target_message_id: number;
}

/** New reminders. */
export interface RemindersAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "reminders";
  op: "add";
  reminders: Reminder[];
}

export type RemindersEvent = RemindersAddEvent | RemindersRemoveEvent;

/** A reminder that was sent or deleted. */
export interface RemindersRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "reminders";
  op: "remove";
  reminder_id: number;
}

export interface RemovedPerson {
  user_id: number;
  full_name: string;
}

/** A reason to report a message. */
export interface ReportType {
  key: string;
  name: string;
}

/** A snippet in its wire form. */
export interface SavedSnippet {
  id: number;
  title: string;
  content: string;
  date_created: number;
}

export interface SavedSnippetsAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "saved_snippets";
  op: "add";
  saved_snippet: SavedSnippet;
}

export type SavedSnippetsEvent =
  | SavedSnippetsAddEvent
  | SavedSnippetsRemoveEvent
  | SavedSnippetsUpdateEvent;

export interface SavedSnippetsRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "saved_snippets";
  op: "remove";
  saved_snippet_id: number;
}

export interface SavedSnippetsUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "saved_snippets";
  op: "update";
  saved_snippet: SavedSnippet;
}

/** A scheduled message in its wire form. */
export interface ScheduledMessage {
  scheduled_message_id: number;
  type: "private" | "stream";
  /** A channel, or users. */
  to: number | number[];
  topic?: string;
  content: string;
  rendered_content: string;
  scheduled_delivery_timestamp: number;
  failed: boolean;
}

/** New scheduled messages. */
export interface ScheduledMessagesAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "scheduled_messages";
  op: "add";
  scheduled_messages: ScheduledMessage[];
}

export type ScheduledMessagesEvent =
  | ScheduledMessagesAddEvent
  | ScheduledMessagesRemoveEvent
  | ScheduledMessagesUpdateEvent;

/** A scheduled message that was sent or deleted. */
export interface ScheduledMessagesRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "scheduled_messages";
  op: "remove";
  scheduled_message_id: number;
}

/** A changed scheduled message. */
export interface ScheduledMessagesUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "scheduled_messages";
  op: "update";
  scheduled_message: ScheduledMessage;
}

export interface ScimToken {
  id: number;
  name: string;
  /** The first characters of the token. */
  hint: string;
  /** null: the operator of the server. */
  creator_id: number | null;
  created_at: number;
  /** To within five minutes. */
  last_used_at: number | null;
}

/** Any event. */
export type ServerEvent =
  | AlertWordsEvent
  | AttachmentEvent
  | ButtonClickAnswerEvent
  | ChannelFolderEvent
  | CustomProfileFieldsEvent
  | DefaultStreamGroupsEvent
  | DefaultStreamsEvent
  | DeleteMessageEvent
  | DeviceEvent
  | DraftsEvent
  | HasWebexTokenEvent
  | HasZoomTokenEvent
  | HeartbeatEvent
  | InvitesChangedEvent
  | NewMessageEvent
  | MessageButtonsEvent
  | MutedTopicsEvent
  | MutedUsersEvent
  | NavigationViewEvent
  | OnboardingStepsEvent
  | PinnedMessagesEvent
  | PinnedTopicsEvent
  | PresenceEvent
  | PushDeviceEvent
  | ReactionEvent
  | ReactionNotificationEvent
  | RealmEvent
  | RealmBotEvent
  | RealmDomainsEvent
  | RealmEmojiEvent
  | RealmExportEvent
  | RealmExportConsentEvent
  | RealmLinkifiersEvent
  | RealmPlaygroundsEvent
  | RealmSlashCommandsEvent
  | RealmUserEvent
  | RealmUserSettingsDefaultsEvent
  | RemindersEvent
  | SavedSnippetsEvent
  | ScheduledMessagesEvent
  | SlashCommandAnswerEvent
  | StreamEvent
  | SubmessageEvent
  | SubscriptionEvent
  | TopicDescriptionsEvent
  | TypingEvent
  | TypingEditMessageEvent
  | UpdateDisplaySettingsEvent
  | UpdateGlobalNotificationsEvent
  | UpdateMessageEvent
  | UpdateMessageFlagsEvent
  | UserGroupEvent
  | UserSettingsEvent
  | UserStatusEvent
  | UserTopicEvent;

/** URL and interface of an outgoing webhook, and the token that authenticates its requests. */
export interface Service {
  base_url: string;
  interface: number;
  token: string;
}

/** Personal settings of new users, and the available choices. */
export interface SettingDefaults {
  color_scheme: 1 | 2 | 3;
  default_language: string;
  demote_inactive_streams: 1 | 2 | 3;
  display_emoji_reaction_users: boolean;
  emojiset: "google" | "google-blob" | "text" | "twitter";
  enter_sends: boolean;
  fluid_layout_width: boolean;
  hide_ai_features: boolean;
  high_contrast_mode: boolean;
  left_side_userlist: boolean;
  starred_message_counts: boolean;
  translate_emoticons: boolean;
  /** null: the language's default. */
  twenty_four_hour_time: boolean | null;
  user_list_style: 1 | 2 | 3;
  web_animate_image_previews: "always" | "never" | "on_hover";
  web_channel_default_view: 1 | 2 | 3 | 4;
  web_escape_navigates_to_home_view: boolean;
  web_font_size_px: number;
  web_home_view: "all_messages" | "inbox" | "recent" | "recent_topics";
  web_inbox_show_channel_folders: boolean;
  web_left_sidebar_show_channel_folders: boolean;
  web_left_sidebar_unreads_count_summary: boolean;
  web_line_height_percent: number;
  web_mark_read_on_scroll_policy: 1 | 2 | 3;
  web_navigate_to_sent_message: boolean;
  web_stream_unreads_count_display_policy: 1 | 2 | 3;
  web_suggest_update_timezone: boolean;
  desktop_icon_count_display: 1 | 2 | 3 | 4;
  email_notifications_batching_period_seconds: number;
  enable_desktop_notifications: boolean;
  enable_digest_emails: boolean;
  enable_followed_topic_audible_notifications: boolean;
  enable_followed_topic_desktop_notifications: boolean;
  enable_followed_topic_email_notifications: boolean;
  enable_followed_topic_push_notifications: boolean;
  enable_followed_topic_wildcard_mentions_notify: boolean;
  enable_login_emails: boolean;
  enable_marketing_emails: boolean;
  enable_offline_email_notifications: boolean;
  enable_offline_push_notifications: boolean;
  enable_online_push_notifications: boolean;
  /** Only for clients with the capability `reaction_notifications`. */
  enable_reaction_notifications?: boolean;
  enable_sounds: boolean;
  enable_stream_audible_notifications: boolean;
  enable_stream_desktop_notifications: boolean;
  enable_stream_email_notifications: boolean;
  enable_stream_push_notifications: boolean;
  message_content_in_email_notifications: boolean;
  notification_sound: string;
  pm_content_in_desktop_notifications: boolean;
  realm_name_in_email_notifications_policy: 1 | 2 | 3;
  wildcard_mentions_notify: boolean;
  automatically_follow_topics_policy: 1 | 2 | 3 | 4;
  automatically_follow_topics_where_mentioned: boolean;
  automatically_unmute_topics_in_muted_streams_policy: 1 | 2 | 3 | 4;
  enable_drafts_synchronization: boolean;
  resolved_topic_notice_auto_read_policy: "always" | "except_followed" | "never";
  allow_private_data_export: boolean;
  email_address_visibility: 1 | 2 | 3 | 4 | 5;
  presence_enabled: boolean;
  receives_typing_notifications: boolean;
  send_private_typing_notifications: boolean;
  send_read_receipts: boolean;
  send_stream_typing_notifications: boolean;
  available_notification_sounds: string[];
  emojiset_choices: EmojiSetChoice[];
}

/** A file as the API returns it. */
export interface ShownAttachment {
  id: number;
  name: string;
  path_id: string;
  size: number;
  create_time: number;
  messages: HoldingMessage[];
  message_ids?: number[];
}

/** A button as clients get it. */
export interface ShownButton {
  /** Unique in the message. */
  id: string;
  label: string;
  style: "danger" | "default" | "primary";
  /** What to ask before the click is sent; null for nothing. */
  confirm: Confirmation | null;
}

/** A device in register: its push registration, without the key. */
export interface ShownClientDevice {
  push_key_id: number | null;
  push_token_id: string | null;
  pending_push_token_id: string | null;
  push_token_last_updated_timestamp: number | null;
  push_registration_error_code: string | null;
}

/** A legal hold. Moments are in seconds since 1970. */
export interface ShownHold {
  id: number;
  name: string;
  reason: string;
  whole_organization: boolean;
  user_ids: number[];
  channel_ids: number[];
  /** The first second of the messages that it covers; null: from the beginning. */
  sent_from: number | null;
  /** The first second after them; null: it has no end. */
  sent_until: number | null;
  creator_id: number;
  created_at: number;
  /** Who released it; null while it is active, like the other fields of the release. */
  releaser_id: number | null;
  released_at: number | null;
  release_reason: string | null;
}

/** An import that an owner has asked for. */
export interface ShownImport {
  id: number;
  acting_user_id: number;
  file_name: string;
  /** In bytes. */
  size: number;
  /** `reading` (what is in the file), `ready` (to be started), `running`, `done` or `failed`. */
  state: "done" | "failed" | "reading" | "ready" | "running";
  /** The program that wrote the file; empty while it is not known. */
  source: string;
  /** In seconds since 1970, as `ended_at`. */
  requested_at: number;
  ended_at: number | null;
  /** Where an import that is running stands. */
  phase: "" | "finishing" | "messages" | "preparing";
  messages_done: number;
  /** Messages of the file; 0 while they are not counted. */
  messages_total: number;
  /** Why the import failed: a sentence in the language of the reader. */
  problem: string;
  /** Null until the file has been read. */
  contents: ImportContents | null;
}

export interface ShownSlashCommand {
  id: number;
  /** Without the slash. */
  name: string;
  description: string;
  parameter_hint: string;
  bot_id: number;
}

/** A subscription, without its secrets. */
export interface ShownSubscription {
  id: number;
  endpoint: string;
  user_agent: string;
  wants_removals: boolean;
  /** In seconds since 1970. */
  date_created: number;
}

export interface SignInMethod {
  enabled: boolean;
  available: boolean;
}

/** What the caller alone is shown of a command's outcome; it is no message. */
export interface SlashCommandAnswerEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "slash_command_answer";
  /** As the call returned it. An answer with the same id replaces the one before. */
  call_id: string;
  /** The command's name, without the slash. */
  command: string;
  bot_id: number;
  /** Whether the server says that something has failed; otherwise it is the bot's answer. */
  is_error: boolean;
  /** In Markdown. */
  content: string;
  rendered_content: string;
  /** Where the command was called; null for direct messages. */
  stream_id: number | null;
  topic: string | null;
  /** All participants of the direct messages; null for channels. */
  user_ids: number[] | null;
}

/** Channels that the user may know from now on. */
export interface StreamCreateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "stream";
  op: "create";
  streams: Channel[];
}

/** Channels that the user may no longer know. */
export interface StreamDeleteEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "stream";
  op: "delete";
  stream_ids: number[];
  streams: DeletedChannel[];
}

export type StreamEvent = StreamCreateEvent | StreamDeleteEvent | StreamUpdateEvent;

/** A changed property of a channel. */
export interface StreamUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "stream";
  op: "update";
  stream_id: number;
  /** Its name before the change. */
  name: string;
  property: string;
  value: number | DirectMembers | boolean | string | null;
  /** With a new description. */
  rendered_description?: string;
  history_public_to_subscribers?: boolean;
  is_web_public?: boolean;
}

/** A part of a widget: its beginning, a vote, and the like. */
export interface Submessage {
  id: number;
  message_id: number;
  sender_id: number;
  msg_type: string;
  content: string;
}

/** A new submessage of a message. */
export interface SubmessageEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "submessage";
  message_id: number;
  submessage_id: number;
  sender_id: number;
  msg_type: string;
  content: string;
}

export interface SubscribedTopicDescription {
  stream_id: number;
  /** The empty topic is the empty string. */
  topic: string;
  /** In Markdown. */
  description: string;
  rendered_description: string;
}

/** A channel with a subscriber's settings. */
export interface Subscription {
  stream_id: number;
  name: string;
  description: string;
  rendered_description: string;
  date_created: number;
  creator_id: number | null;
  invite_only: boolean;
  is_web_public: boolean;
  history_public_to_subscribers: boolean;
  is_archived: boolean;
  topics_policy: string;
  folder_id: number | null;
  message_retention_days: number | null;
  /** Whether first-time subscribers get push notifications, whatever their own default is. Unset only in events of the previous release. */
  default_push_notifications?: boolean;
  first_message_id: number | null;
  is_recently_active: boolean;
  /** null: too young for an average. */
  stream_weekly_traffic: number | null;
  subscriber_count: number;
  stream_post_policy: number;
  is_announcement_only: boolean;
  can_add_subscribers_group: number | DirectMembers;
  can_administer_channel_group: number | DirectMembers;
  /** Unset only in events of the previous release. */
  can_create_topic_group?: number | DirectMembers;
  can_delete_any_message_group: number | DirectMembers;
  can_delete_own_message_group: number | DirectMembers;
  can_move_messages_out_of_channel_group: number | DirectMembers;
  can_move_messages_within_channel_group: number | DirectMembers;
  /** Unset for clients without the capability `pins`, and in events of the previous release. */
  can_pin_group?: number | DirectMembers;
  can_remove_subscribers_group: number | DirectMembers;
  can_resolve_topics_group: number | DirectMembers;
  can_send_message_group: number | DirectMembers;
  can_subscribe_group: number | DirectMembers;
  color: string;
  is_muted: boolean;
  in_home_view: boolean;
  pin_to_top: boolean;
  desktop_notifications: boolean | null;
  audible_notifications: boolean | null;
  push_notifications: boolean | null;
  email_notifications: boolean | null;
  wildcard_mentions_notify: boolean | null;
  subscribers?: number[];
  partial_subscribers?: number[];
}

/** New subscriptions of the user. */
export interface SubscriptionAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "subscription";
  op: "add";
  subscriptions: Subscription[];
}

export type SubscriptionEvent =
  | SubscriptionAddEvent
  | SubscriptionPeerAddEvent
  | SubscriptionPeerRemoveEvent
  | SubscriptionRemoveEvent
  | SubscriptionUpdateEvent;

/** New subscribers of channels. */
export interface SubscriptionPeerAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "subscription";
  op: "peer_add";
  stream_ids: number[];
  user_ids: number[];
}

/** Subscribers who have left channels. */
export interface SubscriptionPeerRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "subscription";
  op: "peer_remove";
  stream_ids: number[];
  user_ids: number[];
}

/** Ended subscriptions of the user. */
export interface SubscriptionRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "subscription";
  op: "remove";
  subscriptions: ChannelName[];
}

/** A changed setting of a subscription. */
export interface SubscriptionUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "subscription";
  op: "update";
  stream_id: number;
  property: string;
  value: boolean | number | string | null;
}

/** The permissions by what they belong to, and by name. */
export interface SupportedPermissions {
  realm: Record<string, PermissionRuleFields>;
  stream: Record<string, PermissionRuleFields>;
  group: Record<string, PermissionRuleFields>;
}

export interface TargetUsers {
  /** Ids of people. */
  user_ids?: number[];
  /** Ids of groups: their active members and those of the groups in them, except bots. */
  group_ids?: number[];
  /** Whether a setting that a user has ever changed stays as it is for that user. */
  skip_if_already_edited: boolean;
}

export interface ThumbnailFormat {
  name: string;
  max_width: number;
  max_height: number;
  format: string;
  animated: boolean;
}

export interface Topic {
  name: string;
  max_id: number;
}

/** Topics of a channel with new descriptions, to be applied in their order. */
export interface TopicDescriptionsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "topic_descriptions";
  stream_id: number;
  topics: DescribedTopic[];
}

/** A link in a topic's name. */
export interface TopicLink {
  text: string;
  url: string;
}

export type TypingEditMessageEvent = TypingEditMessageStartEvent | TypingEditMessageStopEvent;

/** A user edits a message, or has stopped. */
export interface TypingEditMessageStartEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "typing_edit_message";
  op: "start";
  sender_id: number;
  message_id: number;
  recipient: ChannelPlace | DirectPlace;
}

/** A user edits a message, or has stopped. */
export interface TypingEditMessageStopEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "typing_edit_message";
  op: "stop";
  sender_id: number;
  message_id: number;
  recipient: ChannelPlace | DirectPlace;
}

export type TypingEvent = TypingStartEvent | TypingStopEvent;

export interface TypingPerson {
  email: string;
  user_id: number;
}

export type TypingStartEvent = {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "typing";
  op: "start";
  message_type: "stream";
  sender: TypingPerson;
  stream_id: number;
  topic: string;
} | {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "typing";
  op: "start";
  message_type: "direct";
  sender: TypingPerson;
  recipients: TypingPerson[];
};

export type TypingStopEvent = {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "typing";
  op: "stop";
  message_type: "stream";
  sender: TypingPerson;
  stream_id: number;
  topic: string;
} | {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "typing";
  op: "stop";
  message_type: "direct";
  sender: TypingPerson;
  recipients: TypingPerson[];
};

/** An import that has begun and not ended, by a command or by the API. */
export interface UnfinishedImport {
  import_id: number;
  /** The program that wrote the file. */
  source: string;
  /** In seconds since 1970. */
  started_at: number;
  messages_done: number;
  messages_total: number;
  /** What has come so far. */
  contents: ImportContents;
}

/** Unread messages of a conversation of two, or with oneself. */
export interface UnreadDirect {
  other_user_id: number;
  sender_id: number;
  unread_message_ids: number[];
}

/** Unread messages of a direct-message group. */
export interface UnreadGroup {
  user_ids_string: string;
  unread_message_ids: number[];
}

/** Unread messages by conversation. */
export interface UnreadMessages {
  count: number;
  pms: UnreadDirect[];
  huddles: UnreadGroup[];
  streams: UnreadTopic[];
  mentions: number[];
  /** Whether there are more: these are the newest. */
  old_unreads_missing: boolean;
}

/** Unread messages of a topic. */
export interface UnreadTopic {
  stream_id: number;
  topic: string;
  unread_message_ids: number[];
}

/** The same for older clients. */
export interface UpdateDisplaySettingsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "update_display_settings";
  /** Their public email address. */
  user: string;
  setting_name: string;
  setting: boolean | number | string | null;
  language_name?: string;
}

/** The same for notification settings. */
export interface UpdateGlobalNotificationsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "update_global_notifications";
  user: string;
  notification_name: string;
  setting: boolean | number | string | null;
}

/** New content of one message; or a move of messages along with one of them. */
export interface UpdateMessageEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "update_message";
  message_id: number;
  message_ids: number[];
  /** null: the server changed it. */
  user_id: number | null;
  edit_timestamp: number;
  /** Whether only the rendering has changed, without an edit by a user. */
  rendering_only: boolean;
  stream_id?: number;
  stream_name?: string;
  orig_content?: string;
  orig_rendered_content?: string;
  content?: string;
  rendered_content?: string;
  is_me_message?: boolean;
  orig_subject?: string;
  propagate_mode?: "change_all" | "change_later" | "change_one";
  subject?: string;
  topic_links?: TopicLink[];
  new_stream_id?: number;
  /** The reader's own flags of the message. */
  flags: string[];
}

/** Messages that gained or lost a flag. */
export interface UpdateMessageFlagsAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "update_message_flags";
  op: "add";
  /** The same as `op`, for older clients. */
  operation: "add" | "remove";
  flag: string;
  messages: number[];
  /** Whether all other messages have gained or lost the flag as well. */
  all: boolean;
  /** Of messages that have become unread. */
  message_details?: Record<string, MessageDetails>;
}

export type UpdateMessageFlagsEvent = UpdateMessageFlagsAddEvent | UpdateMessageFlagsRemoveEvent;

/** Messages that gained or lost a flag. */
export interface UpdateMessageFlagsRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "update_message_flags";
  op: "remove";
  /** The same as `op`, for older clients. */
  operation: "add" | "remove";
  flag: string;
  messages: number[];
  /** Whether all other messages have gained or lost the flag as well. */
  all: boolean;
  /** Of messages that have become unread. */
  message_details?: Record<string, MessageDetails>;
}

/** A user in the wire form: in events, in register, and in responses. */
export interface User {
  user_id: number;
  /** The public address. */
  email: string;
  /** The real address; null for readers who may not know it. */
  delivery_email: string | null;
  full_name: string;
  date_joined: string;
  role: number;
  is_owner: boolean;
  is_admin: boolean;
  is_guest: boolean;
  is_bot: boolean;
  bot_type: number | null;
  bot_owner_id: number | null;
  timezone: string;
  avatar_url: string | null;
  avatar_version: number;
  is_active?: boolean;
  /** Only sent if true. */
  is_system_bot?: boolean;
  /** Whether the account was imported, and its person has not signed in yet. */
  is_imported_stub: boolean;
  /** Whether the account has been erased, or its profile deleted. Only sent if true, and not of active users. */
  is_deleted?: boolean;
  profile_data?: Record<string, ProfileValue>;
}

/** A group in its wire form: in events, in register, and in responses. */
export interface UserGroup {
  id: number;
  name: string;
  description: string;
  members: number[];
  direct_subgroup_ids: number[];
  is_system_group: boolean;
  deactivated: boolean;
  creator_id: number | null;
  date_created: number | null;
  can_add_members_group: number | DirectMembers;
  can_join_group: number | DirectMembers;
  can_leave_group: number | DirectMembers;
  can_manage_group: number | DirectMembers;
  can_mention_group: number | DirectMembers;
  can_remove_members_group: number | DirectMembers;
}

export interface UserGroupAddEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_group";
  op: "add";
  group: UserGroup;
}

/** New direct members of a group. */
export interface UserGroupAddMembersEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_group";
  op: "add_members";
  group_id: number;
  user_ids: number[];
}

/** New direct subgroups of a group. */
export interface UserGroupAddSubgroupsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_group";
  op: "add_subgroups";
  group_id: number;
  direct_subgroup_ids: number[];
}

export type UserGroupEvent =
  | UserGroupAddEvent
  | UserGroupAddMembersEvent
  | UserGroupAddSubgroupsEvent
  | UserGroupRemoveEvent
  | UserGroupRemoveMembersEvent
  | UserGroupRemoveSubgroupsEvent
  | UserGroupUpdateEvent;

/** A deactivated group, for clients that do not support deactivated groups. */
export interface UserGroupRemoveEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_group";
  op: "remove";
  group_id: number;
}

/** Removed direct members of a group. */
export interface UserGroupRemoveMembersEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_group";
  op: "remove_members";
  group_id: number;
  user_ids: number[];
}

/** Removed direct subgroups of a group. */
export interface UserGroupRemoveSubgroupsEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_group";
  op: "remove_subgroups";
  group_id: number;
  direct_subgroup_ids: number[];
}

/** Changed fields of a group. */
export interface UserGroupUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_group";
  op: "update";
  group_id: number;
  data: GroupChange;
}

export type UserSettingsEvent = UserSettingsUpdateEvent;

/** A changed personal setting. */
export interface UserSettingsUpdateEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_settings";
  op: "update";
  property: string;
  value: boolean | number | string | null;
  language_name?: string;
}

/** A status in its wire form; unset fields are left out. */
export interface UserStatus {
  away?: boolean;
  status_text?: string;
  emoji_name?: string;
  emoji_code?: string;
  reaction_type?: string;
}

export type UserStatusEvent = {
  /** Increasing along the queue, with gaps. */
  id: number;
  away?: boolean;
  status_text?: string;
  emoji_name?: string;
  emoji_code?: string;
  reaction_type?: string;
  user_id: number;
  type: "user_status";
} | {
  /** Increasing along the queue, with gaps. */
  id: number;
  type: "user_status";
  user_id: number;
  away?: boolean;
  status_text?: string;
  emoji_name?: string;
  emoji_code?: string;
  reaction_type?: string;
};

/** The visibility policy of a topic. */
export interface UserTopic {
  stream_id: number;
  topic_name: string;
  last_updated: number;
  visibility_policy: number;
}

/** A changed visibility policy of a topic. */
export interface UserTopicEvent {
  /** Increasing along the queue, with gaps. */
  id: number;
  stream_id: number;
  topic_name: string;
  last_updated: number;
  visibility_policy: number;
  type: "user_topic";
}

export interface VideoChatProvider {
  name: string;
  id: number;
}

/** A channel to subscribe to. */
export interface WantedParam {
  /** Name of the channel. */
  name: string;
  /** Description, if the channel is created. */
  description?: string;
}

/** What each endpoint takes and answers. */
export interface Endpoints {
  /** List your uploaded files */
  "GET /attachments": {
    params: Record<never, never>;
    answer: {
      attachments: ShownAttachment[];
      upload_space_used: number;
    };
  };
  /** Delete an uploaded file */
  "DELETE /attachments/{attachment_id}": {
    params: {
      /** Id of the file, from `GET /attachments`. */
      attachment_id: number;
    };
    answer: Record<never, never>;
  };
  /** Remove stored values of the bot */
  "DELETE /bot_storage": {
    params: {
      /** Keys of the values. Without it: all values. */
      keys?: string[] | null;
    };
    answer: Record<never, never>;
  };
  /** Read the bot"s stored values */
  "GET /bot_storage": {
    params: {
      /** Keys of the values. Without it: all values. */
      keys?: string[] | null;
    };
    answer: {
      storage: Record<string, string>;
    };
  };
  /** Store values for the bot */
  "PUT /bot_storage": {
    params: {
      /** Texts to store, by key. */
      storage: Record<string, string>;
    };
    answer: Record<never, never>;
  };
  /** List your bots */
  "GET /bots": {
    params: Record<never, never>;
    answer: {
      bots: OwnBot[];
    };
  };
  /** Create a bot */
  "POST /bots": {
    params: {
      /** The file. */
      file?: Blob;
      /** Whether event queues of the bot receive messages of all public channels unless they say otherwise. */
      default_all_public_streams?: boolean | null;
      /** Channel to which event queues of the bot are narrowed unless they name a narrow. */
      default_events_register_stream?: string;
      /** Channel to which the bot sends where no other is named. */
      default_sending_stream?: string;
      /** Display name of the bot. */
      full_name: string;
      /** First part of the bot's email address; `-bot` and the organization's domain are added. */
      short_name: string;
      /** 1 generic, 2 incoming webhook, 3 outgoing webhook. */
      bot_type?: number;
      /** Configuration of embedded bots, which this server does not have: leave it out. */
      config_data?: Record<string, string>;
      /** Format in which an outgoing webhook is called: 1 generic, 2 Slack's. */
      interface_type?: number;
      /** Address that an outgoing webhook is called at. */
      payload_url?: string;
      /** Name of an embedded bot's service; accepted and not used. */
      service_name?: string;
    };
    answer: {
      default_all_public_streams: boolean;
      default_events_register_stream: string | null;
      default_sending_stream: string | null;
      user_id: number;
      api_key: string;
      avatar_url: string | null;
    };
  };
  /** Deactivate a bot */
  "DELETE /bots/{bot_id}": {
    params: {
      /** User id of the bot. */
      bot_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a bot */
  "PATCH /bots/{bot_id}": {
    params: {
      /** User id of the bot. */
      bot_id: number;
      /** The file. */
      file?: Blob;
      /** Whether event queues of the bot receive messages of all public channels unless they say otherwise. */
      default_all_public_streams?: boolean | null;
      /** Channel to which event queues of the bot are narrowed unless they name a narrow. */
      default_events_register_stream?: string;
      /** Channel to which the bot sends where no other is named. */
      default_sending_stream?: string;
      /** User id of the new owner. */
      bot_owner_id?: number | null;
      /** Configuration of embedded bots, which this server does not have: leave it out. */
      config_data?: Record<string, string>;
      /** New display name. */
      full_name?: string;
      /** New role: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest. */
      role?: number | null;
      /** New first part of the bot's email address; `-bot` and the organization's domain are added. */
      short_name?: string;
      /** Format in which an outgoing webhook is called: 1 generic, 2 Slack's. */
      service_interface?: number | null;
      /** Address that an outgoing webhook is called at. */
      service_payload_url?: string;
    };
    answer: {
      full_name: string;
      avatar_url: string | null;
      default_all_public_streams: boolean;
      default_events_register_stream: string | null;
      default_sending_stream: string | null;
      bot_owner?: string | null;
      service_interface?: number | null;
      service_payload_url?: string | null;
    };
  };
  /** Get a bot"s API key */
  "GET /bots/{bot_id}/api_key": {
    params: {
      /** User id of the bot. */
      bot_id: number;
    };
    answer: {
      api_key: string;
    };
  };
  /** Replace a bot"s API key */
  "POST /bots/{bot_id}/api_key/regenerate": {
    params: {
      /** User id of the bot. */
      bot_id: number;
    };
    answer: {
      api_key: string;
    };
  };
  /** Get the last delivery to an incoming webhook */
  "GET /bots/{bot_id}/last_delivery": {
    params: {
      /** User id of an incoming webhook bot. */
      bot_id: number;
    };
    answer: {
      /** null if nothing has come yet. */
      last_delivery: Delivery | null;
    };
  };
  /** Remove the secret of an incoming webhook */
  "DELETE /bots/{bot_id}/webhook_secret": {
    params: {
      /** User id of an incoming webhook bot. */
      bot_id: number;
    };
    answer: Record<never, never>;
  };
  /** Say whether an incoming webhook has a secret */
  "GET /bots/{bot_id}/webhook_secret": {
    params: {
      /** User id of an incoming webhook bot. */
      bot_id: number;
    };
    answer: {
      is_set: boolean;
    };
  };
  /** Set the secret of an incoming webhook */
  "PUT /bots/{bot_id}/webhook_secret": {
    params: {
      /** User id of an incoming webhook bot. */
      bot_id: number;
      /** The secret that the service has, or was given: 8 to 1,000 characters; of Travis CI its public key. */
      secret: string;
    };
    answer: Record<never, never>;
  };
  /** Create a link to a BigBlueButton call */
  "GET /calls/bigbluebutton/create": {
    params: {
      /** Name of the meeting. */
      meeting_name: string;
      /** Whether participants join without video. */
      voice_only?: boolean;
    };
    answer: {
      url: string;
    };
  };
  /** Create a link to a Constructor Groups call */
  "POST /calls/constructorgroups/create": {
    params: Record<never, never>;
    answer: {
      url: string;
    };
  };
  /** Create a link to a Nextcloud Talk call */
  "POST /calls/nextcloud_talk/create": {
    params: {
      /** Name of the conversation. */
      room_name: string;
    };
    answer: {
      url: string;
    };
  };
  /** Create a link to a Webex call */
  "POST /calls/webex/create": {
    params: Record<never, never>;
    answer: {
      url: string;
    };
  };
  /** Create a link to a Zoom call */
  "POST /calls/zoom/create": {
    params: {
      /** Whether participants join with video. */
      is_video_call?: boolean;
    };
    answer: {
      url: string;
    };
  };
  /** List channel folders */
  "GET /channel_folders": {
    params: {
      /** Whether to return archived folders, too. */
      include_archived?: boolean;
    };
    answer: {
      channel_folders: ChannelFolder[];
    };
  };
  /** Reorder channel folders */
  "PATCH /channel_folders": {
    params: {
      /** Ids of all folders, in the new order. */
      order: number[];
    };
    answer: Record<never, never>;
  };
  /** Create a channel folder */
  "POST /channel_folders/create": {
    params: {
      /** Name of the folder, which no other active folder may have. */
      name: string;
      /** Description of the folder, in Markdown. */
      description?: string;
    };
    answer: {
      channel_folder_id: number;
    };
  };
  /** Change a channel folder */
  "PATCH /channel_folders/{channel_folder_id}": {
    params: {
      /** Id of the folder. */
      channel_folder_id: number;
      /** New name. */
      name?: string;
      /** New description, in Markdown. */
      description?: string;
      /** true archives the folder, false brings it back. */
      is_archived?: boolean | null;
    };
    answer: Record<never, never>;
  };
  /** Create a channel */
  "POST /channels/create": {
    params: {
      /** Whether the channel is private: only its subscribers see it and read it. */
      invite_only?: boolean;
      /** Whether visitors may read the channel without an account. */
      is_web_public?: boolean;
      /** Whether new users are subscribed to it. */
      is_default_stream?: boolean;
      /** Whether new subscribers see messages sent before they joined. Default: true for public channels, false for private ones. */
      history_public_to_subscribers?: boolean | null;
      /** Days after which its messages are deleted: a number, `realm_default`, or `unlimited`. Only owners may set it. */
      message_retention_days?: number | string | null;
      /** Whether its messages may or must go without a topic; `inherit` follows the organization. */
      topics_policy?: "inherit" | "allow_empty_topic" | "disable_empty_topic" | "empty_topic_only";
      /** Id of the folder that the channel is in. */
      folder_id?: number | null;
      /** Whether first-time subscribers get push notifications of all its messages, whatever their own default is. Only administrators may set it. */
      default_push_notifications?: boolean;
      /** Who may subscribe others to the channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_add_subscribers_group?: number | DirectGroupParam | null;
      /** Who may change the channel's settings. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_administer_channel_group?: number | DirectGroupParam | null;
      /** Who may begin new topics. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_create_topic_group?: number | DirectGroupParam | null;
      /** Who may delete messages of others in the channel. */
      can_delete_any_message_group?: number | DirectGroupParam | null;
      /** Who may delete their own messages in the channel. */
      can_delete_own_message_group?: number | DirectGroupParam | null;
      /** Who may move messages to another channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_move_messages_out_of_channel_group?: number | DirectGroupParam | null;
      /** Who may move messages between its topics. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_move_messages_within_channel_group?: number | DirectGroupParam | null;
      /** Who may pin its topics and messages, beside those that the organization permits it. */
      can_pin_group?: number | DirectGroupParam | null;
      /** Who may unsubscribe others from the channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_remove_subscribers_group?: number | DirectGroupParam | null;
      /** Who may mark its topics as resolved. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_resolve_topics_group?: number | DirectGroupParam | null;
      /** Who may send messages to the channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_send_message_group?: number | DirectGroupParam | null;
      /** Who may subscribe by themselves, even if the channel is private. */
      can_subscribe_group?: number | DirectGroupParam | null;
      /** Name of the channel, at most 60 characters. */
      name: string;
      /** Description, in Markdown. */
      description?: string;
      /** User ids of those to subscribe. */
      subscribers: number[];
      /** Whether to announce the channel in the organization's channel for announcements. */
      announce?: boolean;
      /** Whether to notify new subscribers by a direct message. */
      send_new_subscription_messages?: boolean;
    };
    answer: {
      id: number;
    };
  };
  /** List compliance cases */
  "GET /compliance/cases": {
    params: Record<never, never>;
    answer: {
      /** At most 1,000, newest first. */
      cases: ComplianceCase[];
    };
  };
  /** Open a compliance case */
  "POST /compliance/cases": {
    params: {
      /** Why all messages have to be searched: up to 2,000 characters. */
      reason: string;
      /** For how long, from the approval on: up to 168. */
      hours?: number;
      /** Your password, if the account has one. Without one, and with a second factor, the session must have begun within the last ten minutes. */
      old_password?: string;
    };
    answer: {
      id: number;
    };
  };
  /** Approve a compliance case */
  "POST /compliance/cases/{case_id}/approve": {
    params: {
      /** Id of the case. */
      case_id: number;
      /** As for opening a case. */
      old_password?: string;
    };
    answer: Record<never, never>;
  };
  /** Close a compliance case */
  "POST /compliance/cases/{case_id}/close": {
    params: {
      /** Id of the case. */
      case_id: number;
    };
    answer: Record<never, never>;
  };
  /** Search all messages in a compliance case */
  "POST /compliance/cases/{case_id}/search": {
    params: {
      /** Id of the case. */
      case_id: number;
      /** Terms, as in `GET /messages` */
      narrow?: Array<Array<string | number | number[]> | Record<string, unknown>>;
      /** Only messages that were sent at this moment or later, in seconds since 1970. */
      since?: number | null;
      /** Only messages that were sent before this moment. */
      until?: number | null;
      /** Only messages with a lower id: `next_before` of the page before. */
      before?: number | null;
      /** How many messages to return at most. */
      limit?: number;
    };
    answer: {
      /** Newest first. */
      messages: ComplianceMessage[];
      /** `before` of the next page; null after the last one. A page may be empty, and not the last. */
      next_before: number | null;
    };
  };
  /** List legal holds */
  "GET /compliance/legal_holds": {
    params: Record<never, never>;
    answer: {
      /** Newest first, released ones included. */
      legal_holds: ShownHold[];
    };
  };
  /** Place a legal hold */
  "POST /compliance/legal_holds": {
    params: {
      /** Up to 100 characters. */
      name: string;
      /** Why, such as the number of the case: up to 2,000 characters. */
      reason: string;
      /** Users with messages, files and direct conversations that are held: at most 1,000. */
      user_ids?: number[];
      /** Channels of which all is held that is or was there: at most 1,000. */
      channel_ids?: number[];
      /** Hold everything, instead of users and channels. */
      whole_organization?: boolean;
      /** Only what was sent at this moment or later, in seconds since 1970. */
      sent_from?: number | null;
      /** Only what was sent before this moment. */
      sent_until?: number | null;
    };
    answer: {
      id: number;
    };
  };
  /** Release a legal hold */
  "POST /compliance/legal_holds/{hold_id}/release": {
    params: {
      /** Id of the hold. */
      hold_id: number;
      /** Why it is released: up to 2,000 characters. */
      reason: string;
    };
    answer: Record<never, never>;
  };
  /** List compliance officers */
  "GET /compliance/officers": {
    params: Record<never, never>;
    answer: {
      officers: Officer[];
      /** Whether another officer has to approve each case. */
      needs_two_persons: boolean;
    };
  };
  /** Appoint a compliance officer */
  "POST /compliance/officers": {
    params: {
      /** Your password, if the account has one. Without one, and with a second factor, the session must have begun within the last ten minutes. */
      old_password?: string;
      /** Id of the user: an active person who is no guest. */
      user_id: number;
    };
    answer: Record<never, never>;
  };
  /** Dismiss a compliance officer */
  "DELETE /compliance/officers/{user_id}": {
    params: {
      /** Id of the user. */
      user_id: number;
    };
    answer: Record<never, never>;
  };
  /** Set whether compliance cases need two persons */
  "PATCH /compliance/rules": {
    params: {
      /** Your password, if the account has one. Without one, and with a second factor, the session must have begun within the last ten minutes. */
      old_password?: string;
      /** Whether another officer has to approve each new case. */
      needs_two_persons: boolean;
    };
    answer: Record<never, never>;
  };
  /** Create a group of default channels */
  "POST /default_stream_groups/create": {
    params: {
      /** Name of the group. */
      group_name: string;
      /** Description that new users read. */
      description: string;
      /** Names of its channels. */
      stream_names: string[];
    };
    answer: Record<never, never>;
  };
  /** Delete a group of default channels */
  "DELETE /default_stream_groups/{group_id}": {
    params: {
      /** Id of the group of default channels. */
      group_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a group of default channels */
  "PATCH /default_stream_groups/{group_id}": {
    params: {
      /** Id of the group of default channels. */
      group_id: number;
      /** New name. */
      new_group_name?: string;
      /** New description. */
      new_description?: string;
    };
    answer: Record<never, never>;
  };
  /** Add or remove channels of a group of default channels */
  "PATCH /default_stream_groups/{group_id}/streams": {
    params: {
      /** Id of the group of default channels. */
      group_id: number;
      /** Whether to add or to remove the channels. */
      op: "add" | "remove";
      /** Names of the channels. */
      stream_names: string[];
    };
    answer: Record<never, never>;
  };
  /** Make a channel no default channel */
  "DELETE /default_streams": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: Record<never, never>;
  };
  /** Make a channel a default channel */
  "POST /default_streams": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: Record<never, never>;
  };
  /** Get any user"s API key on a development server */
  "POST /dev_fetch_api_key": {
    params: {
      /** Email address of the account. */
      username: string;
    };
    answer: {
      api_key: string;
      email: string;
      user_id: number;
    };
  };
  /** List the accounts of a development server */
  "GET /dev_list_users": {
    params: Record<never, never>;
    answer: {
      direct_admins: DevUser[];
      direct_users: DevUser[];
    };
  };
  /** List your drafts */
  "GET /drafts": {
    params: Record<never, never>;
    answer: {
      count: number;
      drafts: Draft[];
    };
  };
  /** Create drafts */
  "POST /drafts": {
    params: {
      /** The drafts. */
      drafts?: GivenDraft[];
    };
    answer: {
      ids: number[];
    };
  };
  /** Delete a draft */
  "DELETE /drafts/{draft_id}": {
    params: {
      /** Id of the draft. */
      draft_id: number;
    };
    answer: Record<never, never>;
  };
  /** Replace a draft */
  "PATCH /drafts/{draft_id}": {
    params: {
      /** Id of the draft. */
      draft_id: number;
      /** What it is to hold now, in full. */
      draft: GivenDraft;
    };
    answer: Record<never, never>;
  };
  /** Show the page that stops emails of a kind */
  "GET /email_notifications/unsubscribe/{token}": {
    params: {
      /** Signed token from an email. */
      token: string;
    };
    answer: unknown;
  };
  /** Stop emails of a kind */
  "POST /email_notifications/unsubscribe/{token}": {
    params: {
      /** Signed token from an email. */
      token: string;
    };
    answer: unknown;
  };
  /** List the Unicode emoji and their names */
  "GET /emoji_data": {
    params: Record<never, never>;
    answer: {
      /** Names, the usual one first, by code points in hexadecimal. */
      code_to_names: Record<string, string[]>;
    };
  };
  /** Delete an event queue */
  "DELETE /events": {
    params: {
      /** Id of the queue, from `POST /register`. */
      queue_id: string;
    };
    answer: Record<never, never>;
  };
  /** Get events from a queue */
  "GET /events": {
    params: {
      /** Id of the queue, from `POST /register`. */
      queue_id: string;
      /** Id of the last event that the client has received; at first `last_event_id` of `POST /register`. */
      last_event_id?: number | null;
      /** Whether to answer at once, even if there is no event. */
      dont_block?: boolean;
    };
    answer: {
      /** Each has an `id` and a `type`; other fields depend on the type. */
      events: ServerEvent[];
      queue_id: string;
    };
  };
  /** List exports of the organization */
  "GET /export/realm": {
    params: Record<never, never>;
    answer: {
      exports: RealmExport[];
    };
  };
  /** Start an export of the organization */
  "POST /export/realm": {
    params: {
      /** Public data only (`public` or 1), or also the private data of users who consent (`full_with_consent` or 2). */
      export_type?: number | string;
    };
    answer: {
      id: number;
    };
  };
  /** List consents to the export of private data */
  "GET /export/realm/consents": {
    params: Record<never, never>;
    answer: {
      export_consents: Consent[];
    };
  };
  /** Delete an export */
  "DELETE /export/realm/{export_id}": {
    params: {
      /** Id of the export. */
      export_id: number;
    };
    answer: Record<never, never>;
  };
  /** Post any JSON as a message */
  "POST /external/json": {
    params: {
      /** API key of the bot, instead of an `Authorization` header. */
      api_key?: string;
      /** Channel by name or id. Without it the bot's owner gets a direct message. */
      stream?: string;
      /** Topic of the message. Default: a topic named after the format, or the channel that the sender names. */
      topic?: string;
      /** Template of the topic, like `{repository.name}`; `topic` precedes it. */
      topic_template?: string;
      /** Template of the text, in Markdown, with fields like `{commits.*.message|first 3}`. */
      text_template?: string;
    };
    answer: Record<never, never>;
  };
  /** Post a message in Slack"s incoming webhook format */
  "POST /external/slack_incoming": {
    params: {
      /** API key of the bot, instead of an `Authorization` header. */
      api_key?: string;
      /** Channel by name or id. Without it the bot's owner gets a direct message. */
      stream?: string;
      /** Topic of the message. Default: a topic named after the format, or the channel that the sender names. */
      topic?: string;
    };
    answer: {
      /** In the form of Slack's response. */
      ok: boolean;
    };
  };
  /** Answer a service that checks the address of a webhook */
  "GET /external/{integration}": {
    params: {
      /** Name of the service, as `realm_incoming_webhook_bots` of `POST /register` has it. */
      integration: string;
      /** API key of the bot, instead of an `Authorization` header. */
      api_key?: string;
      /** Channel by name or id. Without it the bot's owner gets a direct message. */
      stream?: string;
      /** Topic of the message. Default: a topic named after the format, or the channel that the sender names. */
      topic?: string;
      /** Events to post; others are accepted and not posted. `*` stands for any characters. */
      only_events?: string[] | null;
      /** Events not to post, likewise. */
      exclude_events?: string[] | null;
      /** Branches of which pushes are posted, separated by commas. Default: all. */
      branches?: string;
      /** Whether to post nothing about private repositories. */
      ignore_private_repositories?: boolean;
      /** Whether each pull request has a topic of its own, rather than all of a repository one. */
      map_pull_request_topics?: boolean;
      /** For Alertmanager: annotation or label of alerts that becomes the topic. Default: the alert's name. */
      name?: string;
      /** For Alertmanager: annotation or label of alerts that describes them. Default: `description`. */
      desc?: string;
      /** For Opsgenie: whether the account is in its EU region, where links have to lead. */
      eu_region?: boolean;
      /** Text to answer with. */
      challenge?: string;
    };
    answer: unknown;
  };
  /** Post what a service"s webhook says */
  "POST /external/{integration}": {
    params: {
      /** Name of the service, as `realm_incoming_webhook_bots` of `POST /register` has it. */
      integration: string;
      /** API key of the bot, instead of an `Authorization` header. */
      api_key?: string;
      /** Channel by name or id. Without it the bot's owner gets a direct message. */
      stream?: string;
      /** Topic of the message. Default: a topic named after the format, or the channel that the sender names. */
      topic?: string;
      /** Events to post; others are accepted and not posted. `*` stands for any characters. */
      only_events?: string[] | null;
      /** Events not to post, likewise. */
      exclude_events?: string[] | null;
      /** Branches of which pushes are posted, separated by commas. Default: all. */
      branches?: string;
      /** Whether to post nothing about private repositories. */
      ignore_private_repositories?: boolean;
      /** Whether each pull request has a topic of its own, rather than all of a repository one. */
      map_pull_request_topics?: boolean;
      /** For Alertmanager: annotation or label of alerts that becomes the topic. Default: the alert's name. */
      name?: string;
      /** For Alertmanager: annotation or label of alerts that describes them. Default: `description`. */
      desc?: string;
      /** For Opsgenie: whether the account is in its EU region, where links have to lead. */
      eu_region?: boolean;
    };
    answer: {
      /** The text with which the service has checked the address; else absent. */
      challenge?: string;
    };
  };
  /** Get your API key with a password */
  "POST /fetch_api_key": {
    params: {
      /** Email address, or the name in the directory (LDAP). */
      username: string;
      /** The account's password. */
      password: string;
    };
    answer: {
      api_key: string;
      email: string;
      user_id: number;
    };
  };
  /** Find a channel"s id by its name */
  "GET /get_stream_id": {
    params: {
      /** Name of the channel. */
      stream: string;
    };
    answer: {
      stream_id: number;
    };
  };
  /** List imports into the organization */
  "GET /imports": {
    params: Record<never, never>;
    answer: {
      imports: ShownImport[];
      /** Size of the largest file that is accepted. */
      max_bytes: number;
      /** The import that keeps others from beginning, until it is continued or abandoned. */
      unfinished: UnfinishedImport | null;
    };
  };
  /** Abandon an import that has not ended */
  "POST /imports/abandon": {
    params: {
      /** Id of the import that has not ended. */
      import_id: number;
    };
    answer: {
      /** What has come, and stays. */
      abandoned: UnfinishedImport;
      /** The channels that have come with it. */
      channel_ids: number[];
    };
  };
  /** Invite all imported people */
  "POST /imports/invitations": {
    params: Record<never, never>;
    answer: {
      /** How many people get an email. */
      count: number;
    };
  };
  /** Delete an import from the list */
  "DELETE /imports/{request_id}": {
    params: {
      /** Id of the import. */
      request_id: number;
    };
    answer: Record<never, never>;
  };
  /** Get an import */
  "GET /imports/{request_id}": {
    params: {
      /** Id of the import. */
      request_id: number;
    };
    answer: {
      import: ShownImport;
    };
  };
  /** Start an import that is ready */
  "POST /imports/{request_id}/start": {
    params: {
      /** Id of the import. */
      request_id: number;
      /** Name of the topic for messages outside of threads; by default one that names the program. */
      topic?: string;
    };
    answer: Record<never, never>;
  };
  /** List the services whose webhooks are understood */
  "GET /integrations": {
    params: Record<never, never>;
    answer: {
      integrations: IntegrationResult[];
    };
  };
  /** List invitations */
  "GET /invites": {
    params: Record<never, never>;
    answer: {
      invites: Invitation[];
    };
  };
  /** Invite people by email */
  "POST /invites": {
    params: {
      /** Role of users who join: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest. */
      invite_as?: number;
      /** Minutes until it expires; null for never. Default: as the server is configured. */
      invite_expires_in_minutes?: number | null;
      /** Ids of channels that users who join are subscribed to. */
      stream_ids: number[];
      /** Ids of user groups that users who join become members of. */
      group_ids?: number[];
      /** Whether users who join are subscribed to the default channels, too. */
      include_realm_default_subscriptions?: boolean;
      /** Text that the welcome bot adds to its greeting; empty for none. Default: that of the organization. */
      welcome_message_custom_text?: string;
      /** Email addresses, separated by commas or line breaks. */
      invitee_emails: string;
      /** Whether the caller is notified when an invited person joins. */
      notify_referrer_on_join?: boolean;
    };
    answer: Record<never, never>;
  };
  /** Create an invitation link for many people */
  "POST /invites/multiuse": {
    params: {
      /** Role of users who join: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest. */
      invite_as?: number;
      /** Minutes until it expires; null for never. Default: as the server is configured. */
      invite_expires_in_minutes?: number | null;
      /** Ids of channels that users who join are subscribed to. */
      stream_ids?: number[];
      /** Ids of user groups that users who join become members of. */
      group_ids?: number[];
      /** Whether users who join are subscribed to the default channels, too. */
      include_realm_default_subscriptions?: boolean;
      /** Text that the welcome bot adds to its greeting; empty for none. Default: that of the organization. */
      welcome_message_custom_text?: string;
    };
    answer: {
      invite_link: string;
    };
  };
  /** Revoke an invitation link */
  "DELETE /invites/multiuse/{invite_id}": {
    params: {
      /** Id of the invitation. */
      invite_id: number;
    };
    answer: Record<never, never>;
  };
  /** Revoke an invitation by email */
  "DELETE /invites/{invite_id}": {
    params: {
      /** Id of the invitation. */
      invite_id: number;
    };
    answer: Record<never, never>;
  };
  /** Send an invitation again */
  "POST /invites/{invite_id}/resend": {
    params: {
      /** Id of the invitation. */
      invite_id: number;
    };
    answer: Record<never, never>;
  };
  /** Get an API key with a JSON Web Token */
  "POST /jwt/fetch_api_key": {
    params: {
      /** The signed token, with the claim `email`. */
      token: string;
      /** Whether to return the user's profile, too. */
      include_profile?: boolean;
    };
    answer: {
      api_key: string;
      email: string;
      user?: User;
    };
  };
  /** Mark all messages as read */
  "POST /mark_all_as_read": {
    params: Record<never, never>;
    answer: {
      complete: boolean;
    };
  };
  /** Mark a channel as read */
  "POST /mark_stream_as_read": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: Record<never, never>;
  };
  /** Mark a topic as read */
  "POST /mark_topic_as_read": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Name of the topic. */
      topic_name: string;
    };
    answer: Record<never, never>;
  };
  /** Answer a click on a button later */
  "POST /message_buttons/answers/{answer_token}": {
    params: {
      /** From the address that the request about the click has. */
      answer_token: string;
    };
    answer: Record<never, never>;
  };
  /** Get messages */
  "GET /messages": {
    params: {
      /** Terms that the messages must match: objects such as `{"operator": "channel", "operand": "general"}`, with `"negated": true` to exclude. */
      narrow?: Array<Array<string | number | number[]> | Record<string, unknown>>;
      /** Id of the message around which to fetch, or `newest`, `oldest`, `first_unread`, or `date`. */
      anchor?: number | "newest" | "oldest" | "first_unread" | "date" | null;
      /** With the anchor `date`: the time, in ISO 8601; UTC unless it names an offset. */
      anchor_date?: string;
      /** How many messages before the anchor; at most 5,000 together with `num_after`. Required unless `message_ids` is given. */
      num_before?: number | null;
      /** How many messages after the anchor. Required unless `message_ids` is given. */
      num_after?: number | null;
      /** Whether the message at the anchor is returned, too. */
      include_anchor?: boolean;
      /** Ids of the messages to fetch, instead of a range. */
      message_ids?: number[] | null;
      /** Whether to return HTML; otherwise the Markdown source. */
      apply_markdown?: boolean;
      /** Whether the client computes Gravatar addresses itself: then `avatar_url` is null for users without a picture of their own. */
      client_gravatar?: boolean;
      /** Whether the empty topic is returned as an empty string; otherwise as its display name. */
      allow_empty_topic_name?: boolean;
      /** Whether messages are returned with their `buttons`. */
      message_buttons?: boolean;
      /** Older form of the anchor `first_unread`. */
      use_first_unread_anchor?: boolean;
      /** Whether to return the position in the organization's history as of which the messages were read. */
      include_position?: boolean;
    };
    answer: {
      messages: Message[];
      anchor?: number | null;
      found_anchor: boolean;
      found_newest: boolean;
      found_oldest: boolean;
      history_limited: boolean;
      /** With `include_position`. */
      position?: number | null;
    };
  };
  /** Move several messages */
  "PATCH /messages": {
    params: {
      /** Ids of the messages, at most 1,000. */
      message_ids: number[];
      /** Whether a notice of the move is posted in the new place. */
      send_notification_to_new_thread?: boolean;
      /** Whether a notice of the move is posted in each topic that messages leave. */
      send_notification_to_old_thread?: boolean;
      /** Id of the channel to move to; the messages' own if it is left out. */
      stream_id?: number | null;
      /** Topic to move to. Without it each message keeps its topic. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
    };
    answer: Record<never, never>;
  };
  /** Send a message */
  "POST /messages": {
    params: {
      /** `channel` (or `stream`) or `direct` (or `private`). */
      type: "direct" | "channel" | "stream" | "private";
      /** Channel by id or name; for direct messages a list of user ids or of email addresses. */
      to?: string | number | number[] | string[];
      /** Text, in Markdown. */
      content: string;
      /** Topic; only for channel messages. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
      /** The client's event queue, which then receives `local_message_id` with the event. Needs `local_id`. */
      queue_id?: string;
      /** Id that the client gave the message. */
      local_id?: string;
      /** Whether the message is marked as read for its sender. Default: whether the client is one that people use. */
      read_by_sender?: boolean | null;
      /** Buttons below the message, at most 25; only for outgoing webhooks. */
      buttons?: ButtonParam[];
      /** Choices that clients show as buttons which send a text, as JSON */
      widget_content?: string;
    };
    answer: {
      id: number;
      automatic_new_visibility_policy?: number | null;
      message_url?: string | null;
      message_link?: string | null;
    };
  };
  /** Delete several messages */
  "POST /messages/delete": {
    params: {
      /** Ids of the messages, at most 1,000. */
      message_ids: number[];
    };
    answer: {
      message_ids: number[];
    };
  };
  /** Add or remove a flag of messages */
  "POST /messages/flags": {
    params: {
      /** Ids of the messages. */
      messages: number[];
      /** `add` sets the flag, `remove` clears it. */
      op: "add" | "remove";
      /** Flag: `read`, `starred`, `collapsed`, or `hide_link_previews`. */
      flag: string;
    };
    answer: {
      messages: number[];
      ignored_because_not_subscribed_channels?: number[] | null;
    };
  };
  /** Add or remove a flag of the messages in a narrow */
  "POST /messages/flags/narrow": {
    params: {
      /** Id of the message around which to work, or `newest`, `oldest` or `first_unread`. */
      anchor: number | "newest" | "oldest" | "first_unread";
      /** How many messages before the anchor. */
      num_before: number;
      /** How many messages after the anchor. */
      num_after: number;
      /** Whether the message at the anchor counts, too. */
      include_anchor?: boolean;
      /** Terms that the messages must match, as in `GET /messages`. */
      narrow: Array<Array<string | number | number[]> | Record<string, unknown>>;
      /** `add` sets the flag, `remove` clears it. */
      op: "add" | "remove";
      /** Flag: `read`, `starred`, `collapsed`, or `hide_link_previews`. */
      flag: string;
    };
    answer: {
      processed_count: number;
      updated_count: number;
      first_processed_id: number | null;
      last_processed_id: number | null;
      found_oldest: boolean;
      found_newest: boolean;
      ignored_because_not_subscribed_channels?: number[] | null;
    };
  };
  /** Check which messages match a narrow */
  "GET /messages/matches_narrow": {
    params: {
      /** Ids of the messages. */
      msg_ids: number[];
      /** Terms, as in `GET /messages`. */
      narrow: Array<Array<string | number | number[]> | Record<string, unknown>>;
    };
    answer: {
      messages: Record<string, Match>;
    };
  };
  /** Render Markdown */
  "POST /messages/render": {
    params: {
      /** Text, in Markdown. */
      content: string;
    };
    answer: {
      rendered: string;
    };
  };
  /** Delete a message */
  "DELETE /messages/{message_id}": {
    params: {
      /** Id of the message. */
      message_id: number;
    };
    answer: Record<never, never>;
  };
  /** Get a message */
  "GET /messages/{message_id}": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** Whether to return HTML; otherwise the Markdown source. */
      apply_markdown?: boolean;
      /** Whether the empty topic is returned as an empty string; otherwise as its display name. */
      allow_empty_topic_name?: boolean;
      /** Whether the message is returned with its `buttons`. */
      message_buttons?: boolean;
    };
    answer: {
      message: Message;
      raw_content: string;
    };
  };
  /** Edit or move a message */
  "PATCH /messages/{message_id}": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** New text, in Markdown. */
      content?: string;
      /** SHA-256 of the Markdown text that was edited, in hexadecimal: the edit is refused if the message has changed since. */
      prev_content_sha256?: string;
      /** Which messages of the topic move: `change_one`, `change_later` (this one and those after it), or `change_all`. */
      propagate_mode?: "change_one" | "change_later" | "change_all";
      /** Whether a notice of the move is posted in the new place. */
      send_notification_to_new_thread?: boolean;
      /** Whether a notice of the move is posted in the old place. */
      send_notification_to_old_thread?: boolean;
      /** Id of the channel to move to. */
      stream_id?: number | null;
      /** Topic to move to. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
    };
    answer: {
      detached_uploads: ShownAttachment[];
    };
  };
  /** Set the buttons of a bot"s message */
  "PUT /messages/{message_id}/buttons": {
    params: {
      /** Id of the bot's message. */
      message_id: number;
      /** All buttons that it has from now on, as of `POST /messages`; an empty list removes them. */
      buttons: ButtonParam[];
    };
    answer: Record<never, never>;
  };
  /** Click on a button of a bot"s message */
  "POST /messages/{message_id}/buttons/click": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** Id of the button, in the message. */
      button_id: string;
      /** Id that the client gave the click. A request with the same id is the same click, and a client that has lost a response repeats it with that. */
      local_id?: string;
    };
    answer: {
      /** By which the event `button_click_answer` names the click. */
      click_id: string;
    };
  };
  /** Get a message"s edit history */
  "GET /messages/{message_id}/history": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** Whether the empty topic is returned as an empty string; otherwise as its display name. */
      allow_empty_topic_name?: boolean;
    };
    answer: {
      message_history: MessageState[];
    };
  };
  /** Unpin a message */
  "DELETE /messages/{message_id}/pin": {
    params: {
      /** Id of a message in a channel. */
      message_id: number;
    };
    answer: Record<never, never>;
  };
  /** Pin a message in its channel */
  "PUT /messages/{message_id}/pin": {
    params: {
      /** Id of a message in a channel. */
      message_id: number;
    };
    answer: Record<never, never>;
  };
  /** Remove your reaction */
  "DELETE /messages/{message_id}/reactions": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** Name of the emoji. */
      emoji_name?: string;
      /** Code points of a Unicode emoji in hexadecimal, or the id of a custom emoji. Needed only where the name is not unique. */
      emoji_code?: string;
      /** Kind of the emoji: `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`. */
      reaction_type?: string;
    };
    answer: Record<never, never>;
  };
  /** Add a reaction */
  "POST /messages/{message_id}/reactions": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** Name of the emoji, such as `tada`. */
      emoji_name: string;
      /** Code points of a Unicode emoji in hexadecimal, or the id of a custom emoji. Needed only where the name is not unique. */
      emoji_code?: string;
      /** Kind of the emoji: `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`. */
      reaction_type?: string;
    };
    answer: Record<never, never>;
  };
  /** List the readers of a message */
  "GET /messages/{message_id}/read_receipts": {
    params: {
      /** Id of the message. */
      message_id: number;
    };
    answer: {
      user_ids: number[];
    };
  };
  /** Report a message to the moderators */
  "POST /messages/{message_id}/report": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** What is wrong with the message: a key of `server_report_message_types`. */
      report_type: "spam" | "harassment" | "inappropriate" | "norms" | "other";
      /** Explanation for the moderators. Required with the type `other`. */
      description?: string;
    };
    answer: Record<never, never>;
  };
  /** Report that you start or stop editing a message */
  "POST /messages/{message_id}/typing": {
    params: {
      /** Id of the message. */
      message_id: number;
      /** Whether typing starts or stops. */
      op: "start" | "stop";
    };
    answer: Record<never, never>;
  };
  /** Send an encrypted test notification */
  "POST /mobile_push/e2ee/test_notification": {
    params: {
      /** Id of the device. Without it: all devices. */
      device_id?: number | null;
      /** `push_account_id` of a device of the older form. */
      push_account_id?: number | null;
    };
    answer: Record<never, never>;
  };
  /** Register a device for encrypted push notifications */
  "POST /mobile_push/register": {
    params: {
      /** Id of the device, from `POST /register_client_device`. Without it, and with `push_account_id`, the registration is of the older form. */
      device_id?: number | null;
      /** Secret key with which notifications are encrypted */
      push_key?: string;
      /** The client's own number for that key, which each notification names. */
      push_key_id?: number | null;
      /** `apns` for Apple, `fcm` for Google. */
      token_kind?: "apns" | "fcm";
      /** The first 8 bytes of the token's SHA-256, in base64. */
      token_id?: string;
      /** Public key of the push service with which the registration is encrypted. */
      bouncer_public_key?: string;
      /** The registration, which only the push service can read, in base64. */
      encrypted_push_registration?: string;
      /** Older form: random number with which the device distinguishes its accounts. */
      push_account_id?: number | null;
      /** Older form: X25519 key with which notifications are encrypted, in base64. */
      push_public_key?: string;
    };
    answer: Record<never, never>;
  };
  /** Send a test notification */
  "POST /mobile_push/test_notification": {
    params: {
      /** Token of the device. Without it: all devices. */
      token?: string;
    };
    answer: Record<never, never>;
  };
  /** List your navigation views */
  "GET /navigation_views": {
    params: Record<never, never>;
    answer: {
      navigation_views: NavigationView[];
    };
  };
  /** Add a navigation view */
  "POST /navigation_views": {
    params: {
      /** Part of the client's address after `#` that the view shows, such as `narrow/is/starred`. */
      fragment: string;
      /** Whether the view is shown at once, or below a menu. */
      is_pinned: boolean;
      /** Name, for views that are not built in. */
      name?: string;
    };
    answer: Record<never, never>;
  };
  /** Remove a navigation view */
  "DELETE /navigation_views/{fragment}": {
    params: {
      /** Part of the client's address after `#` that the view shows, such as `narrow/is/starred`. */
      fragment: string;
    };
    answer: Record<never, never>;
  };
  /** Change a navigation view */
  "PATCH /navigation_views/{fragment}": {
    params: {
      /** Part of the client's address after `#` that the view shows, such as `narrow/is/starred`. */
      fragment: string;
      /** Whether the view is shown at once, or below a menu. */
      is_pinned?: boolean | null;
      /** New name. */
      name?: string;
    };
    answer: Record<never, never>;
  };
  /** Get this description of the API */
  "GET /openapi.json": {
    params: Record<never, never>;
    answer: Record<string, unknown>;
  };
  /** Change the organization"s settings */
  "PATCH /realm": {
    params: {
      /** New name of the organization. */
      name?: string;
      /** Description of the organization, in Markdown. */
      description?: string;
      /** New subdomain. Only owners may change it. */
      string_id?: string;
      /** Address of the Jitsi Meet server for calls; `default` for the server's. */
      jitsi_server_url?: string;
      /** Text that the welcome bot adds to its greeting of new users. */
      welcome_message_custom_text?: string;
      /** Methods to sign in by name, each true or false. At least one must stay; only owners may change it. */
      authentication_methods?: Record<string, boolean | MethodParam> | null;
      /** Whether senders may edit their messages. */
      allow_message_editing?: boolean;
      /** Let only administrators change avatars. */
      avatar_changes_disabled?: boolean;
      /** Language of code blocks that name none; empty for plain text. */
      default_code_block_language?: string;
      /** Language in which automatic messages are written, and new users start. */
      default_language?: string;
      /** Send digest emails to users who have been away. */
      digest_emails_enabled?: boolean;
      /** Day on which digests are sent: 0 Monday to 6 Sunday. */
      digest_weekday?: 0 | 1 | 2 | 3 | 4 | 5 | 6;
      /** Refuse addresses of providers that give them out for a few minutes. Only owners may change it. */
      disallow_disposable_email_addresses?: boolean;
      /** Let only administrators change email addresses. */
      email_changes_disabled?: boolean;
      /** Let only people with an address in one of the organization's domains join. Only owners may change it. */
      emails_restricted_to_domains?: boolean;
      /** Warn users who write a direct message to a guest. */
      enable_guest_user_dm_warning?: boolean;
      /** Mark guests as such beside their name. */
      enable_guest_user_indicator?: boolean;
      /** Whether users can see who has read a message. */
      enable_read_receipts?: boolean;
      /** Let visitors read web-public channels without an account. */
      enable_spectator_access?: boolean;
      /** Older form of `gif_rating_policy`. */
      giphy_rating?: 0 | 1 | 2 | 3 | 4 | 5;
      /** Show linked pictures below messages. */
      inline_image_preview?: boolean;
      /** Show previews of linked pages below messages. */
      inline_url_embed_preview?: boolean;
      /** Let people join only by an invitation. Only owners may change it. */
      invite_required?: boolean;
      /** Height of previews of pictures and videos: 100, 150 or 200. */
      media_preview_size?: 100 | 150 | 200;
      /** Quote messages in notification emails. */
      message_content_allowed_in_email_notifications?: boolean;
      /** Private channel that receives reports; -1 for none. */
      moderation_request_channel_id?: number;
      /** Let only administrators change names. */
      name_changes_disabled?: boolean;
      /** Channel that announces new channels; -1 for none. */
      new_stream_announcements_stream_id?: number;
      /** Kind of the organization */
      org_type?: 0 | 10 | 20 | 30 | 35 | 40 | 50 | 60 | 70 | 80 | 90 | 100 | 1000;
      /** Do not show who is active. */
      presence_disabled?: boolean;
      /** Send phones no push notifications except those that are encrypted end to end. */
      require_e2ee_push_notifications?: boolean;
      /** Refuse names that another active user has. */
      require_unique_names?: boolean;
      /** Ask for the second factor after a sign-in through an identity provider, too. */
      second_factor_after_provider?: boolean;
      /** For how many days these users sign in without one, counted from their first sign-in. */
      second_factor_grace_days?: number;
      /** Post in a channel that it was created, renamed or otherwise changed. */
      send_channel_events_messages?: boolean;
      /** Send an email of welcome to new users. */
      send_welcome_emails?: boolean;
      /** Channel that announces new users; -1 for none. */
      signup_announcements_stream_id?: number;
      /** Provider of video calls by id. `realm_available_video_chat_providers` of `POST /register` lists what this server offers. */
      video_chat_provider?: 0 | 1 | 3 | 4 | 5 | 6 | 7 | 8;
      /** Days after which a new member counts as a full member. Only owners may change it. */
      waiting_period_threshold?: number;
      /** Agree to be listed in directories of communities. */
      want_advertise_in_communities_directory?: boolean;
      /** Channel that announces new features; -1 for none. */
      zulip_update_announcements_stream_id?: number;
      /** Pictures of new accounts without one of their own */
      default_avatar_source?: "G" | "J";
      /** Earlier versions of messages that users see: `all`, `moves` (only changes of channel and topic), or `none`. */
      message_edit_history_visibility_policy?: "all" | "moves" | "none";
      /** Who needs a second factor to sign in with a password */
      second_factor_required_of?:
        | "nobody"
        | "owners"
        | "administrators"
        | "moderators"
        | "members"
        | "everyone";
      /** Whether channel messages may go without a topic. */
      topics_policy?: "allow_empty_topic" | "disable_empty_topic";
      /** Seconds for which senders may delete their messages, or `unlimited`. */
      message_content_delete_limit_seconds?: number | "unlimited";
      /** Seconds for which senders may edit their messages, or `unlimited`. */
      message_content_edit_limit_seconds?: number | "unlimited";
      /** Seconds for which messages may be moved to another channel, or `unlimited`. Moderators are not bound by it. */
      move_messages_between_streams_limit_seconds?: number | "unlimited";
      /** Seconds for which messages may be moved to another topic, or `unlimited`. Moderators are not bound by it. */
      move_messages_within_stream_limit_seconds?: number | "unlimited";
      /** Older form of `message_edit_history_visibility_policy`: true is `all`, false `none`. */
      allow_edit_history?: boolean;
      /** Strictest audience of GIFs that can be picked: 0 no GIFs, 1 Y, 2 G, 3 PG, 4 PG-13, 5 R. */
      gif_rating_policy?: 0 | 1 | 2 | 3 | 4 | 5;
      /** Older form of `topics_policy`: true is `disable_empty_topic`, false `allow_empty_topic`. */
      mandatory_topics?: boolean;
      /** Days after which messages are deleted, or `unlimited`. Only owners may change it. */
      message_retention_days?: number | "unlimited";
      /** Who knows of all users; other users know only those that share a channel or a conversation with them. */
      can_access_all_users_group?: GroupUpdateParam;
      /** Who may add custom emoji. */
      can_add_custom_emoji_group?: GroupUpdateParam;
      /** Who may subscribe others to channels. */
      can_add_subscribers_group?: GroupUpdateParam;
      /** Who may create bots of every kind. */
      can_create_bots_group?: GroupUpdateParam;
      /** Who may create user groups. */
      can_create_groups?: GroupUpdateParam;
      /** Who may create private channels. */
      can_create_private_channel_group?: GroupUpdateParam;
      /** Who may create public channels. */
      can_create_public_channel_group?: GroupUpdateParam;
      /** Who may create web-public channels. */
      can_create_web_public_channel_group?: GroupUpdateParam;
      /** Who may create bots that can only send messages. */
      can_create_write_only_bots_group?: GroupUpdateParam;
      /** Who may delete messages of others. */
      can_delete_any_message_group?: GroupUpdateParam;
      /** Who may delete their own messages, within the time limit. */
      can_delete_own_message_group?: GroupUpdateParam;
      /** Who may invite people. */
      can_invite_users_group?: GroupUpdateParam;
      /** Who may manage every user group. */
      can_manage_all_groups?: GroupUpdateParam;
      /** Who may manage billing. */
      can_manage_billing_group?: GroupUpdateParam;
      /** Who may mention everyone in a channel or topic with many participants. */
      can_mention_many_users_group?: GroupUpdateParam;
      /** Who may move messages to another channel. */
      can_move_messages_between_channels_group?: GroupUpdateParam;
      /** Who may move messages to another topic. */
      can_move_messages_between_topics_group?: GroupUpdateParam;
      /** Who may pin topics and messages in channels. */
      can_pin_group?: GroupUpdateParam;
      /** Who may mark topics as resolved. */
      can_resolve_topics_group?: GroupUpdateParam;
      /** Who may decide for a channel which messages can be deleted there. */
      can_set_delete_message_policy_group?: GroupUpdateParam;
      /** Who may decide for a channel whether topics may be empty. */
      can_set_topics_policy_group?: GroupUpdateParam;
      /** Who may have topics summarized. */
      can_summarize_topics_group?: GroupUpdateParam;
      /** Who may create invitation links for many people. */
      create_multiuse_invite_group?: GroupUpdateParam;
      /** Who may start a new direct message conversation. */
      direct_message_initiator_group?: GroupUpdateParam;
      /** Group of which each direct message conversation needs at least one member. */
      direct_message_permission_group?: GroupUpdateParam;
      /** Who counts as a user at work for billing, of which this server has none. */
      workplace_users_group?: GroupUpdateParam;
      /** Older form of `can_add_custom_emoji_group`, as a number */
      add_custom_emoji_policy?: number;
      /** Older form of `can_create_bots_group`, as a number: 1 members, 3 administrators. */
      bot_creation_policy?: number;
      /** Older form of `can_create_private_channel_group`, as a number: 1 members, 2 administrators, 3 full members, 4 moderators. */
      create_private_stream_policy?: number;
      /** Older form of `can_create_public_channel_group`, as a number: 1 members, 2 administrators, 3 full members, 4 moderators. */
      create_public_stream_policy?: number;
      /** Older form of `can_create_web_public_channel_group`, as a number: 2 administrators, 4 moderators, 6 nobody, 7 owners. */
      create_web_public_stream_policy?: number;
      /** Older form of `can_delete_own_message_group`, as a number */
      delete_own_message_policy?: number;
      /** Older form of `can_move_messages_between_topics_group`, as a number */
      edit_topic_policy?: number;
      /** Older form of `can_invite_users_group`, as a number */
      invite_to_realm_policy?: number;
      /** Older form of `can_add_subscribers_group`, as a number */
      invite_to_stream_policy?: number;
      /** Older form of `can_move_messages_between_channels_group`, as a number */
      move_messages_between_streams_policy?: number;
      /** Older form of `direct_message_permission_group`, as a number: 1 everyone, 2 nobody. */
      private_message_policy?: number;
      /** Older form of `can_manage_all_groups`, as a number */
      user_group_edit_policy?: number;
      /** Older form of `can_mention_many_users_group`, as a number: 1 everyone, 2 members, 3 full members, 5 administrators, 6 nobody, 7 moderators. */
      wildcard_mention_policy?: number;
    };
    answer: Record<never, never>;
  };
  /** Read the audit log */
  "GET /realm/audit_log": {
    params: {
      /** Return only entries with a lower id than this. */
      before?: number | null;
      /** Return only changes that this user made. */
      actor_id?: number | null;
      /** Return only changes of this kind, such as `user_deactivated`. */
      action?: string;
      /** How many entries to return at most. */
      limit?: number;
    };
    answer: {
      entries: AuditEntry[];
    };
  };
  /** Deactivate the organization */
  "POST /realm/deactivate": {
    params: Record<never, never>;
    answer: Record<never, never>;
  };
  /** List the organization"s domains */
  "GET /realm/domains": {
    params: Record<never, never>;
    answer: {
      domains: RealmDomain[];
    };
  };
  /** Add a domain */
  "POST /realm/domains": {
    params: {
      /** The domain, such as `example.com`. */
      domain: string;
      /** Whether addresses in its subdomains count, too. */
      allow_subdomains: boolean;
    };
    answer: {
      new_domain: [number, string];
    };
  };
  /** Remove a domain */
  "DELETE /realm/domains/{domain}": {
    params: {
      /** The domain, such as `example.com`. */
      domain: string;
    };
    answer: Record<never, never>;
  };
  /** Change a domain */
  "PATCH /realm/domains/{domain}": {
    params: {
      /** The domain, such as `example.com`. */
      domain: string;
      /** Whether addresses in its subdomains count, too. */
      allow_subdomains: boolean;
    };
    answer: Record<never, never>;
  };
  /** List custom emoji */
  "GET /realm/emoji": {
    params: Record<never, never>;
    answer: {
      emoji: Record<string, RealmEmoji>;
    };
  };
  /** Deactivate a custom emoji */
  "DELETE /realm/emoji/{emoji_name}": {
    params: {
      /** Name of the emoji: lower case letters, digits, hyphens and underscores. */
      emoji_name: string;
    };
    answer: Record<never, never>;
  };
  /** Upload a custom emoji */
  "POST /realm/emoji/{emoji_name}": {
    params: {
      /** Name of the emoji: lower case letters, digits, hyphens and underscores. */
      emoji_name: string;
      /** The file. */
      file: Blob;
    };
    answer: Record<never, never>;
  };
  /** Create a linkifier */
  "POST /realm/filters": {
    params: {
      /** Regular expression in RE2's syntax, with named groups such as `(?P<id>[0-9]+)`. */
      pattern: string;
      /** Address as a URI template (RFC 6570) with the groups of the pattern as its variables. */
      url_template: string;
      /** Text that the pattern matches, as an example; empty for none. */
      example_input?: string;
      /** Template of the text that becomes a link, with the same variables: clients turn a pasted address into it. Empty for none. */
      reverse_template?: string;
      /** Other addresses that clients turn into that text as well, as URI templates. */
      alternative_url_templates?: string[] | null;
    };
    answer: {
      id: number;
    };
  };
  /** Delete a linkifier */
  "DELETE /realm/filters/{filter_id}": {
    params: {
      /** Id of the linkifier. */
      filter_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a linkifier */
  "PATCH /realm/filters/{filter_id}": {
    params: {
      /** Id of the linkifier. */
      filter_id: number;
      /** Regular expression in RE2's syntax, with named groups such as `(?P<id>[0-9]+)`. */
      pattern: string;
      /** Address as a URI template (RFC 6570) with the groups of the pattern as its variables. */
      url_template: string;
      /** Text that the pattern matches, as an example; empty for none. */
      example_input?: string;
      /** Template of the text that becomes a link, with the same variables: clients turn a pasted address into it. Empty for none. */
      reverse_template?: string;
      /** Other addresses that clients turn into that text as well, as URI templates. */
      alternative_url_templates?: string[] | null;
    };
    answer: Record<never, never>;
  };
  /** Remove the organization"s icon */
  "DELETE /realm/icon": {
    params: Record<never, never>;
    answer: {
      icon_url: string;
    };
  };
  /** Find the organization"s icon */
  "GET /realm/icon": {
    params: Record<never, never>;
    answer: unknown;
  };
  /** Upload the organization"s icon */
  "POST /realm/icon": {
    params: {
      /** The file. */
      file: Blob;
    };
    answer: {
      icon_url: string;
    };
  };
  /** List linkifiers */
  "GET /realm/linkifiers": {
    params: Record<never, never>;
    answer: {
      linkifiers: Linkifier[];
    };
  };
  /** Reorder linkifiers */
  "PATCH /realm/linkifiers": {
    params: {
      /** Ids of all linkifiers, in the new order. */
      ordered_linkifier_ids: number[];
    };
    answer: Record<never, never>;
  };
  /** Remove the organization"s logo */
  "DELETE /realm/logo": {
    params: {
      /** true for the logo on a dark ground, false for that on a light one. */
      night: boolean;
    };
    answer: Record<never, never>;
  };
  /** Find the organization"s logo */
  "GET /realm/logo": {
    params: {
      /** true for the logo on a dark ground, false for that on a light one. */
      night: boolean;
    };
    answer: unknown;
  };
  /** Upload the organization"s logo */
  "POST /realm/logo": {
    params: {
      /** The file. */
      file: Blob;
      /** true for the logo on a dark ground, false for that on a light one. */
      night: boolean;
    };
    answer: Record<never, never>;
  };
  /** Create a code playground */
  "POST /realm/playgrounds": {
    params: {
      /** Name of the playground, as users see it. */
      name: string;
      /** Language of the blocks of code, by its name in Pygments. */
      pygments_language: string;
      /** Address as a URI template (RFC 6570) with the one variable `code`. */
      url_template: string;
    };
    answer: {
      id: number;
    };
  };
  /** Delete a code playground */
  "DELETE /realm/playgrounds/{playground_id}": {
    params: {
      /** Id of the playground. */
      playground_id: number;
    };
    answer: Record<never, never>;
  };
  /** Get the presence of all users */
  "GET /realm/presence": {
    params: Record<never, never>;
    answer: {
      presences: Record<string, Record<string, unknown>>;
      server_timestamp: number;
    };
  };
  /** List custom profile fields */
  "GET /realm/profile_fields": {
    params: Record<never, never>;
    answer: {
      custom_fields: ProfileField[];
    };
  };
  /** Reorder custom profile fields */
  "PATCH /realm/profile_fields": {
    params: {
      /** Ids of all fields, in the new order. */
      order: number[];
    };
    answer: Record<never, never>;
  };
  /** Create a custom profile field */
  "POST /realm/profile_fields": {
    params: {
      /** 1 short text, 2 long text, 3 choice, 4 date, 5 link, 6 users, 7 account elsewhere, 8 pronouns. */
      field_type: number;
      /** Name of the field, as users see it. */
      name?: string;
      /** Hint shown beside the field. */
      hint?: string;
      /** For a choice: the choices by key, each with `text` and `order`. For an account elsewhere: `subtype`, and `url_pattern` if that is `custom`. */
      field_data?: Record<string, unknown>;
      /** Whether clients ask users to fill it in. */
      required?: boolean;
      /** Whether users answer themselves, or only administrators for them. */
      editable_by_user?: boolean;
      /** Whether the answer is shown in the short profile. */
      display_in_profile_summary?: boolean;
      /** Whether clients find users by their answer when they complete names; for short texts, accounts elsewhere and pronouns. */
      use_for_user_matching?: boolean;
    };
    answer: {
      id: number;
    };
  };
  /** Delete a custom profile field */
  "DELETE /realm/profile_fields/{field_id}": {
    params: {
      /** Id of the field. */
      field_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a custom profile field */
  "PATCH /realm/profile_fields/{field_id}": {
    params: {
      /** Id of the field. */
      field_id: number;
      /** New name. */
      name?: string;
      /** New hint. */
      hint?: string;
      /** New choices, or the kind of account. */
      field_data?: Record<string, unknown> | null;
      /** Whether clients ask users to fill it in. */
      required?: boolean | null;
      /** Whether users answer themselves, or only administrators for them. */
      editable_by_user?: boolean | null;
      /** Whether the answer is shown in the short profile. */
      display_in_profile_summary?: boolean | null;
      /** Whether clients find users by their answer when they complete names. */
      use_for_user_matching?: boolean | null;
    };
    answer: Record<never, never>;
  };
  /** Preview what a retention would delete */
  "GET /realm/retention_preview": {
    params: {
      /** For how many days messages would be kept: up to 36,500. */
      days: number;
      /** The channel that would have the rule. Default: the organization. */
      stream_id?: number | null;
    };
    answer: {
      /** Messages that were sent before this moment would be deleted, in seconds since 1970. */
      before: number;
      messages: number;
      /** Those of them in direct conversations. */
      direct_messages: number;
      /** Those with the most messages first. */
      channels: ExpiringChannel[];
      /** Files that no other message holds: they go 30 days later. */
      files: number;
      /** When the oldest of the messages was sent; null if there are none. */
      oldest: number | null;
      /** Whether all messages were counted, rather than the first 1,000,000. */
      is_complete: boolean;
    };
  };
  /** Let directories deactivate more accounts */
  "POST /realm/scim/closures": {
    params: Record<never, never>;
    answer: {
      /** When the allowance ends. */
      ends_at: number;
    };
  };
  /** List the tokens of directories */
  "GET /realm/scim/tokens": {
    params: Record<never, never>;
    answer: {
      tokens: ScimToken[];
    };
  };
  /** Create a token for a directory */
  "POST /realm/scim/tokens": {
    params: {
      /** Which directory gets it: up to 100 characters. */
      name: string;
    };
    answer: {
      id: number;
      /** Shown once. */
      token: string;
    };
  };
  /** Revoke a token of a directory */
  "DELETE /realm/scim/tokens/{token_id}": {
    params: {
      /** Id of the token. */
      token_id: number;
    };
    answer: Record<never, never>;
  };
  /** List the slash commands of bots */
  "GET /realm/slash_commands": {
    params: Record<never, never>;
    answer: {
      slash_commands: ShownSlashCommand[];
    };
  };
  /** Register a slash command */
  "POST /realm/slash_commands": {
    params: {
      /** Name of the command, with or without the slash */
      name: string;
      /** User id of the outgoing webhook bot that is called. */
      bot_id: number;
      /** What the command does, in a line of at most 200 characters. */
      description?: string;
      /** What to write after the command, such as `[service] [version]`: at most 100 characters. */
      parameter_hint?: string;
    };
    answer: {
      id: number;
    };
  };
  /** Call a slash command */
  "POST /realm/slash_commands/call": {
    params: {
      /** The command and what follows it: `/deploy web 7`. */
      command: string;
      /** `channel` (or `stream`) or `direct` (or `private`). */
      type: "direct" | "channel" | "stream" | "private";
      /** Conversation in which the command is called, as of a message */
      to: string | number | number[] | string[];
      /** Topic; only for channels. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
    };
    answer: {
      /** By which the event `slash_command_answer` names the call. */
      call_id: string;
    };
  };
  /** Delete a slash command */
  "DELETE /realm/slash_commands/{command_id}": {
    params: {
      /** Id of the command. */
      command_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a slash command */
  "PATCH /realm/slash_commands/{command_id}": {
    params: {
      /** Id of the command. */
      command_id: number;
      /** New name. */
      name?: string;
      /** New description. */
      description?: string;
      /** New hint about what to write after the command. */
      parameter_hint?: string;
    };
    answer: Record<never, never>;
  };
  /** Try the welcome message */
  "POST /realm/test_welcome_bot_custom_message": {
    params: {
      /** Text to try. */
      welcome_message_custom_text: string;
    };
    answer: {
      message_id: number;
    };
  };
  /** List users whose addresses are not confirmed */
  "GET /realm/unconfirmed_addresses": {
    params: Record<never, never>;
    answer: {
      user_ids: number[];
    };
  };
  /** Confirm a user"s address */
  "DELETE /realm/unconfirmed_addresses/{user_id}": {
    params: {
      /** The user whose address it is. */
      user_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change the settings with which new users start */
  "PATCH /realm/user_settings_defaults": {
    params: {
      /** Colors of the client: 1 as the system has them, 2 dark, 3 light. */
      color_scheme?: 1 | 2 | 3;
      /** Move channels without recent messages to the end of the list: 1 automatic, 2 always, 3 never. */
      demote_inactive_streams?: 1 | 2 | 3;
      /** Show the names of who reacted, while they are few. */
      display_emoji_reaction_users?: boolean;
      /** Style in which emoji are drawn. */
      emojiset?: "google" | "twitter" | "text" | "google-blob";
      /** Enter sends the message, instead of beginning a new line. */
      enter_sends?: boolean;
      /** Use the whole width of a wide window. */
      fluid_layout_width?: boolean;
      /** Hide features that rely on language models. */
      hide_ai_features?: boolean;
      /** Draw with higher contrast. */
      high_contrast_mode?: boolean;
      /** In narrow windows, show the list of users on the left. */
      left_side_userlist?: boolean;
      /** Show how many messages are starred. */
      starred_message_counts?: boolean;
      /** Turn emoticons such as `:)` into emoji when a message is sent. */
      translate_emoticons?: boolean;
      /** Show times with 24 hours; false with 12. null follows the language of the user. */
      twenty_four_hour_time?: boolean;
      /** Rows of the user list: 1 compact, 2 with status, 3 with avatar and status. */
      user_list_style?: 1 | 2 | 3;
      /** When animated pictures move. */
      web_animate_image_previews?: "always" | "on_hover" | "never";
      /** What a click on a channel opens: 1 its newest topic, 2 all of its messages, 3 the list of its topics, 4 its newest unread topic. */
      web_channel_default_view?: 1 | 2 | 3 | 4;
      /** Escape leads to the home view. */
      web_escape_navigates_to_home_view?: boolean;
      /** Font size of the web client, in pixels. */
      web_font_size_px?: number;
      /** View with which the client opens. `recent_topics` means `recent`. */
      web_home_view?: "recent_topics" | "recent" | "inbox" | "all_messages";
      /** Group the channels of the inbox by folder. */
      web_inbox_show_channel_folders?: boolean;
      /** Group the channels in the sidebar by folder. */
      web_left_sidebar_show_channel_folders?: boolean;
      /** Show sums of unread messages in the sidebar. */
      web_left_sidebar_unreads_count_summary?: boolean;
      /** Line height of the web client, in percent of the font size. */
      web_line_height_percent?: number;
      /** Mark messages as read while scrolling: 1 always, 2 only in views of one conversation, 3 never. */
      web_mark_read_on_scroll_policy?: 1 | 2 | 3;
      /** Go to the conversation to which a message was sent. */
      web_navigate_to_sent_message?: boolean;
      /** Channels that show their count of unread messages: 1 all, 2 those not muted, 3 none. */
      web_stream_unreads_count_display_policy?: 1 | 2 | 3;
      /** Suggest another time zone when that of the device differs. */
      web_suggest_update_timezone?: boolean;
      /** Unread messages that the icon counts: 1 all, 2 direct messages, mentions and followed topics, 3 direct messages and mentions, 4 none. */
      desktop_icon_count_display?: 1 | 2 | 3 | 4;
      /** Seconds for which notification emails are collected before one is sent; at most a week. */
      email_notifications_batching_period_seconds?: number;
      /** Show desktop notifications of direct messages, mentions and alert words. */
      enable_desktop_notifications?: boolean;
      /** Receive digest emails. */
      enable_digest_emails?: boolean;
      /** Play a sound for messages in followed topics. */
      enable_followed_topic_audible_notifications?: boolean;
      /** Show desktop notifications of messages in followed topics. */
      enable_followed_topic_desktop_notifications?: boolean;
      /** Send emails about messages in followed topics. */
      enable_followed_topic_email_notifications?: boolean;
      /** Send push notifications of messages in followed topics. */
      enable_followed_topic_push_notifications?: boolean;
      /** In followed topics, a mention of everyone notifies as a personal mention does. */
      enable_followed_topic_wildcard_mentions_notify?: boolean;
      /** Send emails about direct messages, mentions and alert words that were not read in time. */
      enable_offline_email_notifications?: boolean;
      /** Send push notifications of direct messages, mentions and alert words while away. */
      enable_offline_push_notifications?: boolean;
      /** Send push notifications while a client is in use, too. */
      enable_online_push_notifications?: boolean;
      /** Send notifications of reactions to the user's messages. */
      enable_reaction_notifications?: boolean;
      /** Play a sound for direct messages, mentions and alert words. */
      enable_sounds?: boolean;
      /** Play a sound for every channel message. */
      enable_stream_audible_notifications?: boolean;
      /** Show desktop notifications of every channel message. */
      enable_stream_desktop_notifications?: boolean;
      /** Send emails about every channel message. */
      enable_stream_email_notifications?: boolean;
      /** Send push notifications of every channel message. */
      enable_stream_push_notifications?: boolean;
      /** Quote the messages in notification emails. */
      message_content_in_email_notifications?: boolean;
      /** Sound of notifications: `ding`, `zulip`, or `none`. */
      notification_sound?: string;
      /** Show the text of direct messages on the desktop. */
      pm_content_in_desktop_notifications?: boolean;
      /** Name the organization in the subjects of emails: 1 automatic, 2 always, 3 never. */
      realm_name_in_email_notifications_policy?: 1 | 2 | 3;
      /** A mention of everyone notifies as a personal mention does. */
      wildcard_mentions_notify?: boolean;
      /** Topics followed automatically */
      automatically_follow_topics_policy?: 1 | 2 | 3 | 4;
      /** Follow topics in which the user is mentioned. */
      automatically_follow_topics_where_mentioned?: boolean;
      /** Topics of muted channels that are unmuted automatically */
      automatically_unmute_topics_in_muted_streams_policy?: 1 | 2 | 3 | 4;
      /** Keep drafts on the server. Turning it off deletes those that are there. */
      enable_drafts_synchronization?: boolean;
      /** Mark notices that a topic was resolved as read: `always`, `except_followed` (unless the topic is followed), or `never`. */
      resolved_topic_notice_auto_read_policy?: "always" | "except_followed" | "never";
      /** Who sees the user's email address: 1 everyone, 2 members, 3 administrators, 4 nobody, 5 moderators. */
      email_address_visibility?: 1 | 2 | 3 | 4 | 5;
      /** Show to others when the user is active. */
      presence_enabled?: boolean;
      /** Receive typing notifications from others. */
      receives_typing_notifications?: boolean;
      /** Send typing notifications in direct messages. */
      send_private_typing_notifications?: boolean;
      /** Let others see which messages the user has read. */
      send_read_receipts?: boolean;
      /** Send typing notifications in channels. */
      send_stream_typing_notifications?: boolean;
    };
    answer: Record<never, never>;
  };
  /** Register an event queue and get the initial state */
  "POST /register": {
    params: {
      /** Whether events hold messages as HTML; otherwise as Markdown. */
      apply_markdown?: boolean;
      /** Whether the client computes Gravatar addresses itself: then `avatar_url` is null for users without a picture of their own. */
      client_gravatar?: boolean;
      /** Whether presence is returned by user id in the short form. */
      slim_presence?: boolean;
      /** Types of events that the queue receives. Default: all. */
      event_types?: string[] | null;
      /** Types of data that the answer holds. Default: as `event_types`. */
      fetch_event_types?: string[] | null;
      /** Whether channels list their subscribers: all, none, or with `partial` only some of large channels. */
      include_subscribers?: "true" | "false" | "partial";
      /** Features that the client has, each true or false, such as `notification_settings_null`. */
      client_capabilities?: Record<string, unknown>;
      /** Terms that messages must match to reach the queue, as pairs such as `["channel", "general"]`. */
      narrow?: Array<Array<string | number | number[]> | Record<string, unknown>>;
      /** Whether the queue receives messages of all public channels, subscribed or not. Default: no, or what the bot's defaults say. */
      all_public_streams?: boolean | null;
      /** Seconds without a poll after which the queue expires, or `mobile` for twelve hours. */
      idle_queue_timeout?: number | "mobile" | null;
      /** Older name of `idle_queue_timeout`. */
      queue_lifespan_secs?: number;
      /** Leave out the presence of users who were last active more than so many days ago. */
      presence_history_limit_days?: number | null;
    };
    answer: Pick<RegisterState, "queue_id" | "last_event_id" | "position" | "idle_queue_timeout_secs" | "service_feature_level" | "service_version" | "service_merge_base" | "zulip_feature_level" | "zulip_version" | "zulip_merge_base"> & Partial<RegisterState>;
  };
  /** Register a device of a client */
  "POST /register_client_device": {
    params: Record<never, never>;
    answer: {
      /** Id of the new device. */
      device_id: number;
    };
  };
  /** List your reminders */
  "GET /reminders": {
    params: Record<never, never>;
    answer: {
      reminders: Reminder[];
    };
  };
  /** Set a reminder */
  "POST /reminders": {
    params: {
      /** Id of the message to be reminded of. */
      message_id?: number | null;
      /** Note that the reminder shows. */
      note?: string;
      /** When, as a Unix time in seconds. Required, and in the future. */
      scheduled_delivery_timestamp?: number | null;
    };
    answer: {
      reminder_id: number;
    };
  };
  /** Delete a reminder */
  "DELETE /reminders/{reminder_id}": {
    params: {
      /** Id of the reminder. */
      reminder_id: number;
    };
    answer: Record<never, never>;
  };
  /** Remove a device of a client */
  "POST /remove_client_device": {
    params: {
      /** Id of the device, from `POST /register_client_device`. */
      device_id: number;
    };
    answer: Record<never, never>;
  };
  /** List your saved snippets */
  "GET /saved_snippets": {
    params: Record<never, never>;
    answer: {
      saved_snippets: SavedSnippet[];
    };
  };
  /** Save a snippet */
  "POST /saved_snippets": {
    params: {
      /** Title of the snippet. */
      title: string;
      /** Text, in Markdown. */
      content: string;
    };
    answer: {
      saved_snippet_id: number;
    };
  };
  /** Delete a saved snippet */
  "DELETE /saved_snippets/{saved_snippet_id}": {
    params: {
      /** Id of the snippet. */
      saved_snippet_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a saved snippet */
  "PATCH /saved_snippets/{saved_snippet_id}": {
    params: {
      /** Id of the snippet. */
      saved_snippet_id: number;
      /** New title. */
      title?: string;
      /** New text. */
      content?: string;
    };
    answer: Record<never, never>;
  };
  /** List your scheduled messages */
  "GET /scheduled_messages": {
    params: Record<never, never>;
    answer: {
      scheduled_messages: ScheduledMessage[];
    };
  };
  /** Schedule a message */
  "POST /scheduled_messages": {
    params: {
      /** `channel` (or `stream`) or `direct` (or `private`). */
      type: "direct" | "channel" | "stream" | "private";
      /** Id of the channel, or the ids of the users. */
      to: number | number[];
      /** Text, in Markdown. */
      content: string;
      /** Topic; only for channel messages. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
      /** When to send it, as a Unix time in seconds, in the future. */
      scheduled_delivery_timestamp: number;
      /** Whether the message is marked as read for its sender. Default: whether the client is one that people use. */
      read_by_sender?: boolean | null;
    };
    answer: {
      scheduled_message_id: number;
    };
  };
  /** Delete a scheduled message */
  "DELETE /scheduled_messages/{scheduled_message_id}": {
    params: {
      /** Id of the scheduled message. */
      scheduled_message_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a scheduled message */
  "PATCH /scheduled_messages/{scheduled_message_id}": {
    params: {
      /** Id of the scheduled message. */
      scheduled_message_id: number;
      /** New kind, together with `to`. */
      type?: "direct" | "channel" | "stream" | "private";
      /** Id of the channel, or the ids of the users. */
      to?: number | number[] | null;
      /** New text. */
      content?: string;
      /** New topic. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
      /** New time, as a Unix time in seconds. */
      scheduled_delivery_timestamp?: number | null;
    };
    answer: Record<never, never>;
  };
  /** Get what clients need before sign-in */
  "GET /server_settings": {
    params: Record<never, never>;
    answer: {
      authentication_methods: Record<string, boolean>;
      external_authentication_methods: ExternalMethod[];
      service_feature_level: number;
      service_version: string;
      service_merge_base: string;
      zulip_feature_level: number;
      zulip_version: string;
      zulip_merge_base: string;
      push_notifications_enabled: boolean;
      is_incompatible: boolean;
      email_auth_enabled: boolean;
      require_email_format_usernames: boolean;
      realm_url?: string;
      realm_uri?: string;
      realm_name?: string;
      realm_icon?: string;
      realm_description?: string;
      realm_web_public_access_enabled?: boolean;
    };
  };
  /** Change your settings, name, email address or password */
  "PATCH /settings": {
    params: {
      /** New name. */
      full_name?: string;
      /** New email address, to be confirmed by a link. It needs `old_password`. */
      email?: string;
      /** Time zone, such as `Europe/Berlin`; empty for none. */
      timezone?: string;
      /** Present password, required with `email` and `new_password` if the account has one. */
      old_password?: string;
      /** New password, or the first one. All other sessions end, and what is pending for the account. */
      new_password?: string;
      /** For administrators */
      target_users?: TargetUsers | null;
      /** Colors of the client: 1 as the system has them, 2 dark, 3 light. */
      color_scheme?: 1 | 2 | 3;
      /** Language of the interface and of emails, as a language code. */
      default_language?: string;
      /** Move channels without recent messages to the end of the list: 1 automatic, 2 always, 3 never. */
      demote_inactive_streams?: 1 | 2 | 3;
      /** Show the names of who reacted, while they are few. */
      display_emoji_reaction_users?: boolean;
      /** Style in which emoji are drawn. */
      emojiset?: "google" | "twitter" | "text" | "google-blob";
      /** Enter sends the message, instead of beginning a new line. */
      enter_sends?: boolean;
      /** Use the whole width of a wide window. */
      fluid_layout_width?: boolean;
      /** Hide features that rely on language models. */
      hide_ai_features?: boolean;
      /** Draw with higher contrast. */
      high_contrast_mode?: boolean;
      /** In narrow windows, show the list of users on the left. */
      left_side_userlist?: boolean;
      /** Show how many messages are starred. */
      starred_message_counts?: boolean;
      /** Turn emoticons such as `:)` into emoji when a message is sent. */
      translate_emoticons?: boolean;
      /** Show times with 24 hours; false with 12. null follows the language of the user. */
      twenty_four_hour_time?: boolean | null;
      /** Rows of the user list: 1 compact, 2 with status, 3 with avatar and status. */
      user_list_style?: 1 | 2 | 3;
      /** When animated pictures move. */
      web_animate_image_previews?: "always" | "on_hover" | "never";
      /** What a click on a channel opens: 1 its newest topic, 2 all of its messages, 3 the list of its topics, 4 its newest unread topic. */
      web_channel_default_view?: 1 | 2 | 3 | 4;
      /** Escape leads to the home view. */
      web_escape_navigates_to_home_view?: boolean;
      /** Font size of the web client, in pixels. */
      web_font_size_px?: number;
      /** View with which the client opens. `recent_topics` means `recent`. */
      web_home_view?: "recent_topics" | "recent" | "inbox" | "all_messages";
      /** Group the channels of the inbox by folder. */
      web_inbox_show_channel_folders?: boolean;
      /** Group the channels in the sidebar by folder. */
      web_left_sidebar_show_channel_folders?: boolean;
      /** Show sums of unread messages in the sidebar. */
      web_left_sidebar_unreads_count_summary?: boolean;
      /** Line height of the web client, in percent of the font size. */
      web_line_height_percent?: number;
      /** Mark messages as read while scrolling: 1 always, 2 only in views of one conversation, 3 never. */
      web_mark_read_on_scroll_policy?: 1 | 2 | 3;
      /** Go to the conversation to which a message was sent. */
      web_navigate_to_sent_message?: boolean;
      /** Channels that show their count of unread messages: 1 all, 2 those not muted, 3 none. */
      web_stream_unreads_count_display_policy?: 1 | 2 | 3;
      /** Suggest another time zone when that of the device differs. */
      web_suggest_update_timezone?: boolean;
      /** Unread messages that the icon counts: 1 all, 2 direct messages, mentions and followed topics, 3 direct messages and mentions, 4 none. */
      desktop_icon_count_display?: 1 | 2 | 3 | 4;
      /** Seconds for which notification emails are collected before one is sent; at most a week. */
      email_notifications_batching_period_seconds?: number;
      /** Show desktop notifications of direct messages, mentions and alert words. */
      enable_desktop_notifications?: boolean;
      /** Receive digest emails. */
      enable_digest_emails?: boolean;
      /** Play a sound for messages in followed topics. */
      enable_followed_topic_audible_notifications?: boolean;
      /** Show desktop notifications of messages in followed topics. */
      enable_followed_topic_desktop_notifications?: boolean;
      /** Send emails about messages in followed topics. */
      enable_followed_topic_email_notifications?: boolean;
      /** Send push notifications of messages in followed topics. */
      enable_followed_topic_push_notifications?: boolean;
      /** In followed topics, a mention of everyone notifies as a personal mention does. */
      enable_followed_topic_wildcard_mentions_notify?: boolean;
      /** Receive an email when a new device signs in. */
      enable_login_emails?: boolean;
      /** Receive news by email. */
      enable_marketing_emails?: boolean;
      /** Send emails about direct messages, mentions and alert words that were not read in time. */
      enable_offline_email_notifications?: boolean;
      /** Send push notifications of direct messages, mentions and alert words while away. */
      enable_offline_push_notifications?: boolean;
      /** Send push notifications while a client is in use, too. */
      enable_online_push_notifications?: boolean;
      /** Send notifications of reactions to the user's messages. */
      enable_reaction_notifications?: boolean;
      /** Play a sound for direct messages, mentions and alert words. */
      enable_sounds?: boolean;
      /** Play a sound for every channel message. */
      enable_stream_audible_notifications?: boolean;
      /** Show desktop notifications of every channel message. */
      enable_stream_desktop_notifications?: boolean;
      /** Send emails about every channel message. */
      enable_stream_email_notifications?: boolean;
      /** Send push notifications of every channel message. */
      enable_stream_push_notifications?: boolean;
      /** Quote the messages in notification emails. */
      message_content_in_email_notifications?: boolean;
      /** Sound of notifications: `ding`, `zulip`, or `none`. */
      notification_sound?: string;
      /** Show the text of direct messages on the desktop. */
      pm_content_in_desktop_notifications?: boolean;
      /** Name the organization in the subjects of emails: 1 automatic, 2 always, 3 never. */
      realm_name_in_email_notifications_policy?: 1 | 2 | 3;
      /** A mention of everyone notifies as a personal mention does. */
      wildcard_mentions_notify?: boolean;
      /** Topics followed automatically */
      automatically_follow_topics_policy?: 1 | 2 | 3 | 4;
      /** Follow topics in which the user is mentioned. */
      automatically_follow_topics_where_mentioned?: boolean;
      /** Topics of muted channels that are unmuted automatically */
      automatically_unmute_topics_in_muted_streams_policy?: 1 | 2 | 3 | 4;
      /** Keep drafts on the server. Turning it off deletes those that are there. */
      enable_drafts_synchronization?: boolean;
      /** Mark notices that a topic was resolved as read: `always`, `except_followed` (unless the topic is followed), or `never`. */
      resolved_topic_notice_auto_read_policy?: "always" | "except_followed" | "never";
      /** Let exports of the organization hold the user's private data. */
      allow_private_data_export?: boolean;
      /** Who sees the user's email address: 1 everyone, 2 members, 3 administrators, 4 nobody, 5 moderators. */
      email_address_visibility?: 1 | 2 | 3 | 4 | 5;
      /** Show to others when the user is active. */
      presence_enabled?: boolean;
      /** Receive typing notifications from others. */
      receives_typing_notifications?: boolean;
      /** Send typing notifications in direct messages. */
      send_private_typing_notifications?: boolean;
      /** Let others see which messages the user has read. */
      send_read_receipts?: boolean;
      /** Send typing notifications in channels. */
      send_stream_typing_notifications?: boolean;
    };
    answer: Record<never, never>;
  };
  /** Change your display settings (older form) */
  "PATCH /settings/display": {
    params: {
      /** New name. */
      full_name?: string;
      /** New email address, to be confirmed by a link. It needs `old_password`. */
      email?: string;
      /** Time zone, such as `Europe/Berlin`; empty for none. */
      timezone?: string;
      /** Present password, required with `email` and `new_password` if the account has one. */
      old_password?: string;
      /** New password, or the first one. All other sessions end, and what is pending for the account. */
      new_password?: string;
      /** For administrators */
      target_users?: TargetUsers | null;
      /** Colors of the client: 1 as the system has them, 2 dark, 3 light. */
      color_scheme?: 1 | 2 | 3;
      /** Language of the interface and of emails, as a language code. */
      default_language?: string;
      /** Move channels without recent messages to the end of the list: 1 automatic, 2 always, 3 never. */
      demote_inactive_streams?: 1 | 2 | 3;
      /** Show the names of who reacted, while they are few. */
      display_emoji_reaction_users?: boolean;
      /** Style in which emoji are drawn. */
      emojiset?: "google" | "twitter" | "text" | "google-blob";
      /** Enter sends the message, instead of beginning a new line. */
      enter_sends?: boolean;
      /** Use the whole width of a wide window. */
      fluid_layout_width?: boolean;
      /** Hide features that rely on language models. */
      hide_ai_features?: boolean;
      /** Draw with higher contrast. */
      high_contrast_mode?: boolean;
      /** In narrow windows, show the list of users on the left. */
      left_side_userlist?: boolean;
      /** Show how many messages are starred. */
      starred_message_counts?: boolean;
      /** Turn emoticons such as `:)` into emoji when a message is sent. */
      translate_emoticons?: boolean;
      /** Show times with 24 hours; false with 12. null follows the language of the user. */
      twenty_four_hour_time?: boolean | null;
      /** Rows of the user list: 1 compact, 2 with status, 3 with avatar and status. */
      user_list_style?: 1 | 2 | 3;
      /** When animated pictures move. */
      web_animate_image_previews?: "always" | "on_hover" | "never";
      /** What a click on a channel opens: 1 its newest topic, 2 all of its messages, 3 the list of its topics, 4 its newest unread topic. */
      web_channel_default_view?: 1 | 2 | 3 | 4;
      /** Escape leads to the home view. */
      web_escape_navigates_to_home_view?: boolean;
      /** Font size of the web client, in pixels. */
      web_font_size_px?: number;
      /** View with which the client opens. `recent_topics` means `recent`. */
      web_home_view?: "recent_topics" | "recent" | "inbox" | "all_messages";
      /** Group the channels of the inbox by folder. */
      web_inbox_show_channel_folders?: boolean;
      /** Group the channels in the sidebar by folder. */
      web_left_sidebar_show_channel_folders?: boolean;
      /** Show sums of unread messages in the sidebar. */
      web_left_sidebar_unreads_count_summary?: boolean;
      /** Line height of the web client, in percent of the font size. */
      web_line_height_percent?: number;
      /** Mark messages as read while scrolling: 1 always, 2 only in views of one conversation, 3 never. */
      web_mark_read_on_scroll_policy?: 1 | 2 | 3;
      /** Go to the conversation to which a message was sent. */
      web_navigate_to_sent_message?: boolean;
      /** Channels that show their count of unread messages: 1 all, 2 those not muted, 3 none. */
      web_stream_unreads_count_display_policy?: 1 | 2 | 3;
      /** Suggest another time zone when that of the device differs. */
      web_suggest_update_timezone?: boolean;
      /** Unread messages that the icon counts: 1 all, 2 direct messages, mentions and followed topics, 3 direct messages and mentions, 4 none. */
      desktop_icon_count_display?: 1 | 2 | 3 | 4;
      /** Seconds for which notification emails are collected before one is sent; at most a week. */
      email_notifications_batching_period_seconds?: number;
      /** Show desktop notifications of direct messages, mentions and alert words. */
      enable_desktop_notifications?: boolean;
      /** Receive digest emails. */
      enable_digest_emails?: boolean;
      /** Play a sound for messages in followed topics. */
      enable_followed_topic_audible_notifications?: boolean;
      /** Show desktop notifications of messages in followed topics. */
      enable_followed_topic_desktop_notifications?: boolean;
      /** Send emails about messages in followed topics. */
      enable_followed_topic_email_notifications?: boolean;
      /** Send push notifications of messages in followed topics. */
      enable_followed_topic_push_notifications?: boolean;
      /** In followed topics, a mention of everyone notifies as a personal mention does. */
      enable_followed_topic_wildcard_mentions_notify?: boolean;
      /** Receive an email when a new device signs in. */
      enable_login_emails?: boolean;
      /** Receive news by email. */
      enable_marketing_emails?: boolean;
      /** Send emails about direct messages, mentions and alert words that were not read in time. */
      enable_offline_email_notifications?: boolean;
      /** Send push notifications of direct messages, mentions and alert words while away. */
      enable_offline_push_notifications?: boolean;
      /** Send push notifications while a client is in use, too. */
      enable_online_push_notifications?: boolean;
      /** Send notifications of reactions to the user's messages. */
      enable_reaction_notifications?: boolean;
      /** Play a sound for direct messages, mentions and alert words. */
      enable_sounds?: boolean;
      /** Play a sound for every channel message. */
      enable_stream_audible_notifications?: boolean;
      /** Show desktop notifications of every channel message. */
      enable_stream_desktop_notifications?: boolean;
      /** Send emails about every channel message. */
      enable_stream_email_notifications?: boolean;
      /** Send push notifications of every channel message. */
      enable_stream_push_notifications?: boolean;
      /** Quote the messages in notification emails. */
      message_content_in_email_notifications?: boolean;
      /** Sound of notifications: `ding`, `zulip`, or `none`. */
      notification_sound?: string;
      /** Show the text of direct messages on the desktop. */
      pm_content_in_desktop_notifications?: boolean;
      /** Name the organization in the subjects of emails: 1 automatic, 2 always, 3 never. */
      realm_name_in_email_notifications_policy?: 1 | 2 | 3;
      /** A mention of everyone notifies as a personal mention does. */
      wildcard_mentions_notify?: boolean;
      /** Topics followed automatically */
      automatically_follow_topics_policy?: 1 | 2 | 3 | 4;
      /** Follow topics in which the user is mentioned. */
      automatically_follow_topics_where_mentioned?: boolean;
      /** Topics of muted channels that are unmuted automatically */
      automatically_unmute_topics_in_muted_streams_policy?: 1 | 2 | 3 | 4;
      /** Keep drafts on the server. Turning it off deletes those that are there. */
      enable_drafts_synchronization?: boolean;
      /** Mark notices that a topic was resolved as read: `always`, `except_followed` (unless the topic is followed), or `never`. */
      resolved_topic_notice_auto_read_policy?: "always" | "except_followed" | "never";
      /** Let exports of the organization hold the user's private data. */
      allow_private_data_export?: boolean;
      /** Who sees the user's email address: 1 everyone, 2 members, 3 administrators, 4 nobody, 5 moderators. */
      email_address_visibility?: 1 | 2 | 3 | 4 | 5;
      /** Show to others when the user is active. */
      presence_enabled?: boolean;
      /** Receive typing notifications from others. */
      receives_typing_notifications?: boolean;
      /** Send typing notifications in direct messages. */
      send_private_typing_notifications?: boolean;
      /** Let others see which messages the user has read. */
      send_read_receipts?: boolean;
      /** Send typing notifications in channels. */
      send_stream_typing_notifications?: boolean;
    };
    answer: Record<never, never>;
  };
  /** Change your notification settings (older form) */
  "PATCH /settings/notifications": {
    params: {
      /** New name. */
      full_name?: string;
      /** New email address, to be confirmed by a link. It needs `old_password`. */
      email?: string;
      /** Time zone, such as `Europe/Berlin`; empty for none. */
      timezone?: string;
      /** Present password, required with `email` and `new_password` if the account has one. */
      old_password?: string;
      /** New password, or the first one. All other sessions end, and what is pending for the account. */
      new_password?: string;
      /** For administrators */
      target_users?: TargetUsers | null;
      /** Colors of the client: 1 as the system has them, 2 dark, 3 light. */
      color_scheme?: 1 | 2 | 3;
      /** Language of the interface and of emails, as a language code. */
      default_language?: string;
      /** Move channels without recent messages to the end of the list: 1 automatic, 2 always, 3 never. */
      demote_inactive_streams?: 1 | 2 | 3;
      /** Show the names of who reacted, while they are few. */
      display_emoji_reaction_users?: boolean;
      /** Style in which emoji are drawn. */
      emojiset?: "google" | "twitter" | "text" | "google-blob";
      /** Enter sends the message, instead of beginning a new line. */
      enter_sends?: boolean;
      /** Use the whole width of a wide window. */
      fluid_layout_width?: boolean;
      /** Hide features that rely on language models. */
      hide_ai_features?: boolean;
      /** Draw with higher contrast. */
      high_contrast_mode?: boolean;
      /** In narrow windows, show the list of users on the left. */
      left_side_userlist?: boolean;
      /** Show how many messages are starred. */
      starred_message_counts?: boolean;
      /** Turn emoticons such as `:)` into emoji when a message is sent. */
      translate_emoticons?: boolean;
      /** Show times with 24 hours; false with 12. null follows the language of the user. */
      twenty_four_hour_time?: boolean | null;
      /** Rows of the user list: 1 compact, 2 with status, 3 with avatar and status. */
      user_list_style?: 1 | 2 | 3;
      /** When animated pictures move. */
      web_animate_image_previews?: "always" | "on_hover" | "never";
      /** What a click on a channel opens: 1 its newest topic, 2 all of its messages, 3 the list of its topics, 4 its newest unread topic. */
      web_channel_default_view?: 1 | 2 | 3 | 4;
      /** Escape leads to the home view. */
      web_escape_navigates_to_home_view?: boolean;
      /** Font size of the web client, in pixels. */
      web_font_size_px?: number;
      /** View with which the client opens. `recent_topics` means `recent`. */
      web_home_view?: "recent_topics" | "recent" | "inbox" | "all_messages";
      /** Group the channels of the inbox by folder. */
      web_inbox_show_channel_folders?: boolean;
      /** Group the channels in the sidebar by folder. */
      web_left_sidebar_show_channel_folders?: boolean;
      /** Show sums of unread messages in the sidebar. */
      web_left_sidebar_unreads_count_summary?: boolean;
      /** Line height of the web client, in percent of the font size. */
      web_line_height_percent?: number;
      /** Mark messages as read while scrolling: 1 always, 2 only in views of one conversation, 3 never. */
      web_mark_read_on_scroll_policy?: 1 | 2 | 3;
      /** Go to the conversation to which a message was sent. */
      web_navigate_to_sent_message?: boolean;
      /** Channels that show their count of unread messages: 1 all, 2 those not muted, 3 none. */
      web_stream_unreads_count_display_policy?: 1 | 2 | 3;
      /** Suggest another time zone when that of the device differs. */
      web_suggest_update_timezone?: boolean;
      /** Unread messages that the icon counts: 1 all, 2 direct messages, mentions and followed topics, 3 direct messages and mentions, 4 none. */
      desktop_icon_count_display?: 1 | 2 | 3 | 4;
      /** Seconds for which notification emails are collected before one is sent; at most a week. */
      email_notifications_batching_period_seconds?: number;
      /** Show desktop notifications of direct messages, mentions and alert words. */
      enable_desktop_notifications?: boolean;
      /** Receive digest emails. */
      enable_digest_emails?: boolean;
      /** Play a sound for messages in followed topics. */
      enable_followed_topic_audible_notifications?: boolean;
      /** Show desktop notifications of messages in followed topics. */
      enable_followed_topic_desktop_notifications?: boolean;
      /** Send emails about messages in followed topics. */
      enable_followed_topic_email_notifications?: boolean;
      /** Send push notifications of messages in followed topics. */
      enable_followed_topic_push_notifications?: boolean;
      /** In followed topics, a mention of everyone notifies as a personal mention does. */
      enable_followed_topic_wildcard_mentions_notify?: boolean;
      /** Receive an email when a new device signs in. */
      enable_login_emails?: boolean;
      /** Receive news by email. */
      enable_marketing_emails?: boolean;
      /** Send emails about direct messages, mentions and alert words that were not read in time. */
      enable_offline_email_notifications?: boolean;
      /** Send push notifications of direct messages, mentions and alert words while away. */
      enable_offline_push_notifications?: boolean;
      /** Send push notifications while a client is in use, too. */
      enable_online_push_notifications?: boolean;
      /** Send notifications of reactions to the user's messages. */
      enable_reaction_notifications?: boolean;
      /** Play a sound for direct messages, mentions and alert words. */
      enable_sounds?: boolean;
      /** Play a sound for every channel message. */
      enable_stream_audible_notifications?: boolean;
      /** Show desktop notifications of every channel message. */
      enable_stream_desktop_notifications?: boolean;
      /** Send emails about every channel message. */
      enable_stream_email_notifications?: boolean;
      /** Send push notifications of every channel message. */
      enable_stream_push_notifications?: boolean;
      /** Quote the messages in notification emails. */
      message_content_in_email_notifications?: boolean;
      /** Sound of notifications: `ding`, `zulip`, or `none`. */
      notification_sound?: string;
      /** Show the text of direct messages on the desktop. */
      pm_content_in_desktop_notifications?: boolean;
      /** Name the organization in the subjects of emails: 1 automatic, 2 always, 3 never. */
      realm_name_in_email_notifications_policy?: 1 | 2 | 3;
      /** A mention of everyone notifies as a personal mention does. */
      wildcard_mentions_notify?: boolean;
      /** Topics followed automatically */
      automatically_follow_topics_policy?: 1 | 2 | 3 | 4;
      /** Follow topics in which the user is mentioned. */
      automatically_follow_topics_where_mentioned?: boolean;
      /** Topics of muted channels that are unmuted automatically */
      automatically_unmute_topics_in_muted_streams_policy?: 1 | 2 | 3 | 4;
      /** Keep drafts on the server. Turning it off deletes those that are there. */
      enable_drafts_synchronization?: boolean;
      /** Mark notices that a topic was resolved as read: `always`, `except_followed` (unless the topic is followed), or `never`. */
      resolved_topic_notice_auto_read_policy?: "always" | "except_followed" | "never";
      /** Let exports of the organization hold the user's private data. */
      allow_private_data_export?: boolean;
      /** Who sees the user's email address: 1 everyone, 2 members, 3 administrators, 4 nobody, 5 moderators. */
      email_address_visibility?: 1 | 2 | 3 | 4 | 5;
      /** Show to others when the user is active. */
      presence_enabled?: boolean;
      /** Receive typing notifications from others. */
      receives_typing_notifications?: boolean;
      /** Send typing notifications in direct messages. */
      send_private_typing_notifications?: boolean;
      /** Let others see which messages the user has read. */
      send_read_receipts?: boolean;
      /** Send typing notifications in channels. */
      send_stream_typing_notifications?: boolean;
    };
    answer: Record<never, never>;
  };
  /** Answer a slash command later */
  "POST /slash_commands/answers/{answer_token}": {
    params: {
      /** From the address that the request about the call has. */
      answer_token: string;
    };
    answer: Record<never, never>;
  };
  /** List channels */
  "GET /streams": {
    params: {
      /** Select public channels. */
      include_public?: boolean;
      /** Select web-public channels. */
      include_web_public?: boolean;
      /** Select channels that the caller is subscribed to. */
      include_subscribed?: boolean;
      /** Leave archived channels out. */
      exclude_archived?: boolean;
      /** Select every channel that the caller may know of. */
      include_all?: boolean;
      /** Older name of `include_all` together with `exclude_archived`. */
      include_all_active?: boolean;
      /** Select channels in which the caller may read messages. */
      include_can_access_content?: boolean;
      /** Say of each channel whether new users are subscribed to it. */
      include_default?: boolean;
      /** For bots: select channels that the bot's owner is subscribed to. */
      include_owner_subscribed?: boolean;
    };
    answer: {
      streams: ListedChannel[];
    };
  };
  /** Archive a channel */
  "DELETE /streams/{stream_id}": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: Record<never, never>;
  };
  /** Get a channel */
  "GET /streams/{stream_id}": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: {
      stream: Channel;
    };
  };
  /** Change a channel */
  "PATCH /streams/{stream_id}": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** New name. */
      new_name?: string;
      /** New description, in Markdown. */
      description?: string;
      /** true makes the channel private, false public. */
      is_private?: boolean | null;
      /** true lets visitors read the channel without an account. */
      is_web_public?: boolean | null;
      /** Whether new subscribers see messages sent before they joined. */
      history_public_to_subscribers?: boolean | null;
      /** true archives the channel, false brings it back. */
      is_archived?: boolean | null;
      /** Whether new users are subscribed to it. */
      is_default_stream?: boolean | null;
      /** Days after which its messages are deleted: a number, `realm_default`, or `unlimited`. Only owners may set it. */
      message_retention_days?: number | string | null;
      /** Whether its messages may or must go without a topic; `inherit` follows the organization. */
      topics_policy?: "inherit" | "allow_empty_topic" | "disable_empty_topic" | "empty_topic_only";
      /** Id of the folder that the channel is in; null for none. */
      folder_id?: number | null;
      /** Whether first-time subscribers get push notifications of all its messages, whatever their own default is. Only administrators may set it. */
      default_push_notifications?: boolean | null;
      /** Who may subscribe others to the channel. */
      can_add_subscribers_group?: GroupUpdateParam;
      /** Who may change the channel's settings. */
      can_administer_channel_group?: GroupUpdateParam;
      /** Who may begin new topics. */
      can_create_topic_group?: GroupUpdateParam;
      /** Who may delete messages of others in the channel. */
      can_delete_any_message_group?: GroupUpdateParam;
      /** Who may delete their own messages in the channel. */
      can_delete_own_message_group?: GroupUpdateParam;
      /** Who may move messages to another channel. */
      can_move_messages_out_of_channel_group?: GroupUpdateParam;
      /** Who may move messages between its topics. */
      can_move_messages_within_channel_group?: GroupUpdateParam;
      /** Who may pin its topics and messages. */
      can_pin_group?: GroupUpdateParam;
      /** Who may unsubscribe others from the channel. */
      can_remove_subscribers_group?: GroupUpdateParam;
      /** Who may mark its topics as resolved. */
      can_resolve_topics_group?: GroupUpdateParam;
      /** Who may send messages to the channel. */
      can_send_message_group?: GroupUpdateParam;
      /** Who may subscribe by themselves, even if the channel is private. */
      can_subscribe_group?: GroupUpdateParam;
    };
    answer: Record<never, never>;
  };
  /** Delete a topic with its messages */
  "POST /streams/{stream_id}/delete_topic": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Name of the topic. */
      topic_name: string;
    };
    answer: {
      complete: boolean;
    };
  };
  /** Get a channel"s email address */
  "GET /streams/{stream_id}/email_address": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Sender of what arrives, by user id: the caller, one of the caller's bots, or the server's email bot, which is the default. */
      sender_id?: number | null;
    };
    answer: {
      email: string;
    };
  };
  /** List a channel"s subscribers */
  "GET /streams/{stream_id}/members": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: {
      subscribers: number[];
    };
  };
  /** Unpin a topic */
  "DELETE /streams/{stream_id}/pinned_topics": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Name of the topic. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
    };
    answer: Record<never, never>;
  };
  /** Pin a topic in its channel */
  "PUT /streams/{stream_id}/pinned_topics": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Name of the topic. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
    };
    answer: Record<never, never>;
  };
  /** Get the pinned topics and messages of a channel */
  "GET /streams/{stream_id}/pins": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: {
      /** In the order of pinning; the empty topic is the empty string. */
      topics: string[];
      message_ids: number[];
    };
  };
  /** Get the described topics of a channel */
  "GET /streams/{stream_id}/topic_descriptions": {
    params: {
      /** Id of the channel. */
      stream_id: number;
    };
    answer: {
      topics: DescribedTopic[];
    };
  };
  /** Describe a topic */
  "PUT /streams/{stream_id}/topic_descriptions": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Name of the topic. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
      /** New description, in Markdown. Blank: the topic has none any more. */
      description: string;
    };
    answer: Record<never, never>;
  };
  /** Take part in a widget */
  "POST /submessage": {
    params: {
      /** Id of the message with the widget. */
      message_id: number;
      /** Always `widget`. */
      msg_type: string;
      /** What to do, as JSON; for a vote `{"type": "vote", "key": "canned,0", "vote": 1}`. */
      content: string;
    };
    answer: Record<never, never>;
  };
  /** Get whether a picture has a thumbnail */
  "GET /thumbnail/status/{realm_id_str}/{filename}": {
    params: {
      /** Id of the organization, the first part of the file's path. */
      realm_id_str: string;
      /** Rest of the file's path. */
      filename: string;
    };
    answer: {
      /** Whether there is a thumbnail; false as well if none can be made. */
      has_thumbnail: boolean;
    };
  };
  /** Get what resumable uploads support */
  "OPTIONS /tus": {
    params: Record<never, never>;
    answer: unknown;
  };
  /** Begin a resumable upload */
  "POST /tus": {
    params: Record<never, never>;
    answer: {
      url: string;
      uri: string;
      filename: string;
    };
  };
  /** Cancel a resumable upload */
  "DELETE /tus/{upload}": {
    params: {
      /** Id of the upload, from `Location`. */
      upload: string;
    };
    answer: unknown;
  };
  /** Get how much of an upload has arrived */
  "HEAD /tus/{upload}": {
    params: {
      /** Id of the upload, from `Location`. */
      upload: string;
    };
    answer: Record<never, never>;
  };
  /** Continue a resumable upload */
  "PATCH /tus/{upload}": {
    params: {
      /** Id of the upload, from `Location`. */
      upload: string;
    };
    answer: {
      url: string;
      uri: string;
      filename: string;
    };
  };
  /** Report that you start or stop typing */
  "POST /typing": {
    params: {
      /** Whether typing starts or stops. */
      op: "start" | "stop";
      /** Kind of the message. */
      type?: "direct" | "stream" | "channel" | "private";
      /** User ids of the recipients of a direct message. */
      to?: number[] | null;
      /** Id of the channel. Required for channel messages. */
      stream_id?: number | null;
      /** Topic. Required for channel messages. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
    };
    answer: Record<never, never>;
  };
  /** List user groups */
  "GET /user_groups": {
    params: {
      /** Whether to return deactivated groups, too. */
      include_deactivated_groups?: boolean;
    };
    answer: {
      user_groups: UserGroup[];
    };
  };
  /** Create a user group */
  "POST /user_groups/create": {
    params: {
      /** Name of the group. */
      name: string;
      /** Description of the group. */
      description: string;
      /** User ids of its members. */
      members: number[];
      /** Ids of groups that are contained in it. */
      subgroups?: number[] | null;
      /** Who may add members to the group. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_add_members_group?: number | DirectGroupParam | null;
      /** Who may join the group by themselves. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_join_group?: number | DirectGroupParam | null;
      /** Who may leave the group. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_leave_group?: number | DirectGroupParam | null;
      /** Who may change the group and its members. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_manage_group?: number | DirectGroupParam | null;
      /** Who may mention the group. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_mention_group?: number | DirectGroupParam | null;
      /** Who may remove members from the group. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_remove_members_group?: number | DirectGroupParam | null;
    };
    answer: {
      group_id: number;
    };
  };
  /** Deactivate a user group (older form) */
  "DELETE /user_groups/{user_group_id}": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
    };
    answer: Record<never, never>;
  };
  /** Change a user group */
  "PATCH /user_groups/{user_group_id}": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
      /** New name. */
      name?: string;
      /** New description. */
      description?: string;
      /** false brings a deactivated group back. */
      deactivated?: boolean | null;
      /** Who may add members to the group. */
      can_add_members_group?: GroupUpdateParam;
      /** Who may join the group by themselves. */
      can_join_group?: GroupUpdateParam;
      /** Who may leave the group. */
      can_leave_group?: GroupUpdateParam;
      /** Who may change the group and its members. */
      can_manage_group?: GroupUpdateParam;
      /** Who may mention the group. */
      can_mention_group?: GroupUpdateParam;
      /** Who may remove members from the group. */
      can_remove_members_group?: GroupUpdateParam;
    };
    answer: Record<never, never>;
  };
  /** Deactivate a user group */
  "POST /user_groups/{user_group_id}/deactivate": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
    };
    answer: Record<never, never>;
  };
  /** List the members of a user group */
  "GET /user_groups/{user_group_id}/members": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
      /** Leave out users who are members only through a subgroup. */
      direct_member_only?: boolean;
    };
    answer: {
      members: number[];
    };
  };
  /** Add and remove members of a user group */
  "POST /user_groups/{user_group_id}/members": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
      /** User ids of those to add. */
      add?: number[] | null;
      /** User ids of those to remove. */
      delete?: number[] | null;
      /** Ids of groups to add as subgroups. */
      add_subgroups?: number[] | null;
      /** Ids of subgroups to remove. */
      delete_subgroups?: number[] | null;
    };
    answer: Record<never, never>;
  };
  /** Check whether a user is in a user group */
  "GET /user_groups/{user_group_id}/members/{user_id}": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
      /** Id of the user. */
      user_id: number;
      /** Leave out users who are members only through a subgroup. */
      direct_member_only?: boolean;
    };
    answer: {
      is_user_group_member: boolean;
    };
  };
  /** List the subgroups of a user group */
  "GET /user_groups/{user_group_id}/subgroups": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
      /** Leave out subgroups of subgroups. */
      direct_subgroup_only?: boolean;
    };
    answer: {
      subgroups: number[];
    };
  };
  /** Add and remove subgroups of a user group */
  "POST /user_groups/{user_group_id}/subgroups": {
    params: {
      /** Id of the user group. */
      user_group_id: number;
      /** Ids of groups to add as subgroups. */
      add?: number[] | null;
      /** Ids of subgroups to remove. */
      delete?: number[] | null;
    };
    answer: Record<never, never>;
  };
  /** Follow, mute or unmute a topic */
  "POST /user_topics": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Name of the topic. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
      /** 0 as its channel, 1 muted, 2 unmuted in a muted channel, 3 followed. */
      visibility_policy: 0 | 1 | 2 | 3;
    };
    answer: Record<never, never>;
  };
  /** Upload a file */
  "POST /user_uploads": {
    params: {
      /** The file. */
      file: Blob;
    };
    answer: {
      url: string;
      uri: string;
      filename: string;
    };
  };
  /** Get a temporary link to a file */
  "GET /user_uploads/{realm_id_str}/{filename}": {
    params: {
      /** First part of the file's path: the id of the organization. */
      realm_id_str: string;
      /** Rest of the file's path, with the folders in it. */
      filename: string;
    };
    answer: {
      url: string;
    };
  };
  /** List users */
  "GET /users": {
    params: {
      /** Whether the client computes Gravatar addresses itself: then `avatar_url` is null for users without a picture of their own. */
      client_gravatar?: boolean;
      /** Whether to return `profile_data`, the answers to custom profile fields. */
      include_custom_profile_fields?: boolean;
      /** Ids of the users to return. Default: all. */
      user_ids?: number[] | null;
    };
    answer: {
      members: User[];
    };
  };
  /** Create a user */
  "POST /users": {
    params: {
      /** Email address. */
      email: string;
      /** Name. */
      full_name: string;
      /** Password; empty for none. */
      password: string;
    };
    answer: {
      user_id: number;
    };
  };
  /** Deactivate your account */
  "DELETE /users/me": {
    params: {
      /** Your password, if the account has one and a session is used. Without one, the session must have begun within the last ten minutes. */
      old_password?: string;
    };
    answer: Record<never, never>;
  };
  /** Get your own user */
  "GET /users/me": {
    params: Record<never, never>;
    answer: {
      user_id: number;
      /** The public address. */
      email: string;
      /** The real address; null for readers who may not know it. */
      delivery_email: string | null;
      full_name: string;
      date_joined: string;
      role: number;
      is_owner: boolean;
      is_admin: boolean;
      is_guest: boolean;
      is_bot: boolean;
      bot_type: number | null;
      bot_owner_id: number | null;
      timezone: string;
      avatar_url: string | null;
      avatar_version: number;
      is_active?: boolean;
      /** Only sent if true. */
      is_system_bot?: boolean;
      /** Whether the account was imported, and its person has not signed in yet. */
      is_imported_stub: boolean;
      /** Whether the account has been erased, or its profile deleted. Only sent if true, and not of active users. */
      is_deleted?: boolean;
      profile_data?: Record<string, ProfileValue>;
      /** Whether the real address is known to be the caller's. */
      email_confirmed: boolean;
    };
  };
  /** Remove alert words */
  "DELETE /users/me/alert_words": {
    params: {
      /** Words or phrases, matched without regard to case. */
      alert_words: string[];
    };
    answer: {
      alert_words: string[];
    };
  };
  /** List your alert words */
  "GET /users/me/alert_words": {
    params: Record<never, never>;
    answer: {
      alert_words: string[];
    };
  };
  /** Add alert words */
  "POST /users/me/alert_words": {
    params: {
      /** Words or phrases, matched without regard to case. */
      alert_words: string[];
    };
    answer: {
      alert_words: string[];
    };
  };
  /** Unregister an Android device */
  "DELETE /users/me/android_gcm_reg_id": {
    params: {
      /** Token that Apple or Google gave the device. */
      token: string;
    };
    answer: Record<never, never>;
  };
  /** Register an Android device for push notifications */
  "POST /users/me/android_gcm_reg_id": {
    params: {
      /** Token that Apple or Google gave the device. */
      token: string;
    };
    answer: Record<never, never>;
  };
  /** Replace your API key */
  "POST /users/me/api_key/regenerate": {
    params: {
      /** Your password, if the account has one. Without one, a session that began within the last ten minutes is needed. */
      old_password?: string;
    };
    answer: {
      api_key: string;
    };
  };
  /** List your named API keys */
  "GET /users/me/api_keys": {
    params: Record<never, never>;
    answer: {
      api_keys: NamedApiKey[];
    };
  };
  /** Create a named API key */
  "POST /users/me/api_keys": {
    params: {
      /** Your password, if the account has one. Without one, a session that began within the last ten minutes is needed. */
      old_password?: string;
      /** Name by which the user recognizes the key. */
      name: string;
      /** What the key may do */
      scopes: string[];
      /** What the key may do */
      expires_at?: number | null;
    };
    answer: {
      key_id: number;
      api_key: string;
    };
  };
  /** Revoke a named API key */
  "DELETE /users/me/api_keys/{key_id}": {
    params: {
      /** Id of the named key. */
      key_id: number;
    };
    answer: Record<never, never>;
  };
  /** Unregister an Apple device */
  "DELETE /users/me/apns_device_token": {
    params: {
      /** Token that Apple or Google gave the device. */
      token: string;
    };
    answer: Record<never, never>;
  };
  /** Register an Apple device for push notifications */
  "POST /users/me/apns_device_token": {
    params: {
      /** Token that Apple or Google gave the device. */
      token: string;
      /** Id of the app's bundle. */
      appid: string;
    };
    answer: Record<never, never>;
  };
  /** Remove your avatar */
  "DELETE /users/me/avatar": {
    params: Record<never, never>;
    answer: {
      avatar_url: string;
    };
  };
  /** Upload your avatar */
  "POST /users/me/avatar": {
    params: {
      /** The file. */
      file: Blob;
    };
    answer: {
      avatar_url: string;
    };
  };
  /** List your exports of your data */
  "GET /users/me/exports": {
    params: Record<never, never>;
    answer: {
      /** Newest first. */
      exports: AccountExport[];
    };
  };
  /** Start an export of your data */
  "POST /users/me/exports": {
    params: Record<never, never>;
    answer: {
      id: number;
    };
  };
  /** Delete an export of your data */
  "DELETE /users/me/exports/{export_id}": {
    params: {
      /** Id of the export. */
      export_id: number;
    };
    answer: Record<never, never>;
  };
  /** Unmute a user */
  "DELETE /users/me/muted_users/{muted_user_id}": {
    params: {
      /** Id of the user. */
      muted_user_id: number;
    };
    answer: Record<never, never>;
  };
  /** Mute a user */
  "POST /users/me/muted_users/{muted_user_id}": {
    params: {
      /** Id of the user. */
      muted_user_id: number;
    };
    answer: Record<never, never>;
  };
  /** Mark a hint for new users as seen */
  "POST /users/me/onboarding_steps": {
    params: {
      /** Name of the hint, from `POST /register`. */
      onboarding_step: string;
    };
    answer: Record<never, never>;
  };
  /** Report your presence and get that of others */
  "POST /users/me/presence": {
    params: {
      /** Whether the user is active in the client, or idle. */
      status: "active" | "idle";
      /** `presence_last_update_id` of the last answer; -1 at first. */
      last_update_id?: number | null;
      /** Leave out users who were last active more than so many days ago. Default: 14. */
      history_limit_days?: number | null;
      /** Whether to report only, without getting the presence of others. */
      ping_only?: boolean;
      /** Whether the user has done something since the last call; for statistics only. */
      new_user_input?: boolean;
      /** Whether presence is returned by user id in the short form. */
      slim_presence?: boolean;
    };
    answer: {
      presence_last_update_id: number;
      presences?: Record<string, Record<string, unknown>>;
      server_timestamp?: number;
    };
  };
  /** Remove answers to custom profile fields */
  "DELETE /users/me/profile_data": {
    params: {
      /** Ids of the fields. */
      data: number[];
    };
    answer: Record<never, never>;
  };
  /** Answer custom profile fields */
  "PATCH /users/me/profile_data": {
    params: {
      /** Answers, each with the field's `id` and a `value`. */
      data: AnswerParam[];
    };
    answer: Record<never, never>;
  };
  /** Set your status */
  "POST /users/me/status": {
    params: {
      /** Text, at most 60 characters; empty for none. */
      status_text?: string;
      /** Name of the emoji; empty for none. */
      emoji_name?: string;
      /** Code points of a Unicode emoji in hexadecimal, or the id of a custom emoji. Needed only where the name is not unique. */
      emoji_code?: string;
      /** Kind of the emoji: `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`. */
      reaction_type?: string;
      /** Older form of going invisible: true stops showing the user's presence, false shows it again. */
      away?: boolean | null;
    };
    answer: Record<never, never>;
  };
  /** Unsubscribe from channels */
  "DELETE /users/me/subscriptions": {
    params: {
      /** Names of the channels. */
      subscriptions: string[];
      /** User ids, or email addresses, of those concerned. Default: the caller. */
      principals?: number[] | string[] | null;
    };
    answer: {
      removed: string[];
      not_removed: string[];
    };
  };
  /** List your subscriptions */
  "GET /users/me/subscriptions": {
    params: {
      /** Whether channels list their subscribers: all, none, or with `partial` only some of large channels. */
      include_subscribers?: "true" | "false" | "partial";
    };
    answer: {
      subscriptions: Subscription[];
    };
  };
  /** Subscribe and unsubscribe in one request */
  "PATCH /users/me/subscriptions": {
    params: {
      /** Channels to subscribe to, each an object with `name` and, if wanted, `color` and `description`. */
      add?: AddParam[] | null;
      /** Names of channels to unsubscribe from. */
      delete?: string[] | null;
    };
    answer: {
      subscribed: Record<string, string[]>;
      already_subscribed: Record<string, string[]>;
      unauthorized?: string[];
      new_subscription_messages_sent?: boolean;
      removed: string[];
      not_removed: string[];
    };
  };
  /** Subscribe to channels */
  "POST /users/me/subscriptions": {
    params: {
      /** Whether the channel is private: only its subscribers see it and read it. */
      invite_only?: boolean;
      /** Whether visitors may read the channel without an account. */
      is_web_public?: boolean;
      /** Whether new users are subscribed to it. */
      is_default_stream?: boolean;
      /** Whether new subscribers see messages sent before they joined. Default: true for public channels, false for private ones. */
      history_public_to_subscribers?: boolean | null;
      /** Days after which its messages are deleted: a number, `realm_default`, or `unlimited`. Only owners may set it. */
      message_retention_days?: number | string | null;
      /** Whether its messages may or must go without a topic; `inherit` follows the organization. */
      topics_policy?: "inherit" | "allow_empty_topic" | "disable_empty_topic" | "empty_topic_only";
      /** Id of the folder that the channel is in. */
      folder_id?: number | null;
      /** Whether first-time subscribers get push notifications of all its messages, whatever their own default is. Only administrators may set it. */
      default_push_notifications?: boolean;
      /** Who may subscribe others to the channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_add_subscribers_group?: number | DirectGroupParam | null;
      /** Who may change the channel's settings. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_administer_channel_group?: number | DirectGroupParam | null;
      /** Who may begin new topics. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_create_topic_group?: number | DirectGroupParam | null;
      /** Who may delete messages of others in the channel. */
      can_delete_any_message_group?: number | DirectGroupParam | null;
      /** Who may delete their own messages in the channel. */
      can_delete_own_message_group?: number | DirectGroupParam | null;
      /** Who may move messages to another channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_move_messages_out_of_channel_group?: number | DirectGroupParam | null;
      /** Who may move messages between its topics. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_move_messages_within_channel_group?: number | DirectGroupParam | null;
      /** Who may pin its topics and messages, beside those that the organization permits it. */
      can_pin_group?: number | DirectGroupParam | null;
      /** Who may unsubscribe others from the channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_remove_subscribers_group?: number | DirectGroupParam | null;
      /** Who may mark its topics as resolved. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_resolve_topics_group?: number | DirectGroupParam | null;
      /** Who may send messages to the channel. A group by id, or an object with `direct_members` and `direct_subgroups`. Default if left out. */
      can_send_message_group?: number | DirectGroupParam | null;
      /** Who may subscribe by themselves, even if the channel is private. */
      can_subscribe_group?: number | DirectGroupParam | null;
      /** The channels, each an object with `name` and, for new channels, `description`. */
      subscriptions: WantedParam[];
      /** User ids, or email addresses, of those concerned. Default: the caller. */
      principals?: number[] | string[] | null;
      /** Whether one channel that the caller may not join refuses the whole request; otherwise such channels are listed as `unauthorized`. */
      authorization_errors_fatal?: boolean;
      /** Whether to announce new channels in the organization's channel for announcements. */
      announce?: boolean;
      /** Whether to notify other users that the caller subscribes by a direct message. */
      send_new_subscription_messages?: boolean;
    };
    answer: {
      subscribed: Record<string, string[]>;
      already_subscribed: Record<string, string[]>;
      unauthorized?: string[];
      new_subscription_messages_sent?: boolean;
    };
  };
  /** Mute or unmute a topic (older form) */
  "PATCH /users/me/subscriptions/muted_topics": {
    params: {
      /** `add` mutes, `remove` unmutes. */
      op: "add" | "remove";
      /** Name of the topic. */
      topic?: string;
      /** Another name of `topic`: give one of them. */
      subject?: string;
      /** Name of the channel, unless `stream_id` is given. */
      stream?: string;
      /** Id of the channel, unless `stream` is given. */
      stream_id?: number | null;
    };
    answer: Record<never, never>;
  };
  /** Change personal settings of subscriptions */
  "POST /users/me/subscriptions/properties": {
    params: {
      /** Changes, each an object with `stream_id`, `property` and `value`. */
      subscription_data: PropertyParam[];
    };
    answer: Record<never, never>;
  };
  /** Change one personal setting of a subscription */
  "PATCH /users/me/subscriptions/{stream_id}": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Setting, such as `color`, `is_muted`, `pin_to_top`, or `push_notifications`. */
      property: string;
      /** true or false; for `color` the color. */
      value: string;
    };
    answer: Record<never, never>;
  };
  /** List the topics of a channel */
  "GET /users/me/{stream_id}/topics": {
    params: {
      /** Id of the channel. */
      stream_id: number;
      /** Whether the empty topic is returned as an empty string; otherwise as its display name. */
      allow_empty_topic_name?: boolean;
    };
    answer: {
      topics: Topic[];
    };
  };
  /** Deactivate a user */
  "DELETE /users/{user_id_or_email}": {
    params: {
      /** Id of the user. */
      user_id_or_email: number;
      /** Your password, if the account has one and a session is used. Without one, the session must have begun within the last ten minutes. */
      old_password?: string;
      /** What is deleted, for ever. Default: nothing. */
      actions?: DeletionPart;
      /** Comment for the email that notifies the user. Without it no email is sent. */
      deactivation_notification_comment?: string;
    };
    answer: Record<never, never>;
  };
  /** Get a user */
  "GET /users/{user_id_or_email}": {
    params: {
      /** Id of the user. Or: Email address of the user, as the caller may see it. */
      user_id_or_email: number | string;
      /** Whether the client computes Gravatar addresses itself: then `avatar_url` is null for users without a picture of their own. */
      client_gravatar?: boolean;
      /** Whether to return `profile_data`, the answers to custom profile fields. */
      include_custom_profile_fields?: boolean;
    };
    answer: {
      user: User;
    };
  };
  /** Change a user */
  "PATCH /users/{user_id_or_email}": {
    params: {
      /** Id of the user. Or: Email address of the user, as the caller may see it. */
      user_id_or_email: number | string;
      /** New name. */
      full_name?: string;
      /** New email address; always refused, since users confirm addresses themselves. */
      new_email?: string;
      /** Answers to custom profile fields, each with the field's `id` and a `value`. */
      profile_data?: AnswerParam[] | null;
      /** New role: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest. */
      role?: number | null;
    };
    answer: Record<never, never>;
  };
  /** Get a user"s presence */
  "GET /users/{user_id_or_email}/presence": {
    params: {
      /** Id of the user. Or: Email address of the user, as the caller may see it. */
      user_id_or_email: number | string;
    };
    answer: {
      presence: OnePresence;
      server_timestamp: number;
    };
  };
  /** List the channels that a user is subscribed to */
  "GET /users/{user_id}/channels": {
    params: {
      /** Id of the user. */
      user_id: number;
    };
    answer: {
      subscribed_channel_ids: number[];
    };
  };
  /** Reactivate a user */
  "POST /users/{user_id}/reactivate": {
    params: {
      /** Id of the user. */
      user_id: number;
    };
    answer: Record<never, never>;
  };
  /** Reset a user"s second factors */
  "DELETE /users/{user_id}/second_factors": {
    params: {
      /** The user who has lost their second factors. */
      user_id: number;
    };
    answer: Record<never, never>;
  };
  /** Get a user"s status */
  "GET /users/{user_id}/status": {
    params: {
      /** Id of the user. */
      user_id: number;
    };
    answer: {
      status: UserStatus;
    };
  };
  /** Set a user"s status */
  "POST /users/{user_id}/status": {
    params: {
      /** Id of the user. */
      user_id: number;
      /** Text, at most 60 characters; empty for none. */
      status_text?: string;
      /** Name of the emoji; empty for none. */
      emoji_name?: string;
      /** Code points of a Unicode emoji in hexadecimal, or the id of a custom emoji. Needed only where the name is not unique. */
      emoji_code?: string;
      /** Kind of the emoji: `unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`. */
      reaction_type?: string;
    };
    answer: Record<never, never>;
  };
  /** Check whether a user is subscribed to a channel */
  "GET /users/{user_id}/subscriptions/{stream_id}": {
    params: {
      /** Id of the user. */
      user_id: number;
      /** Id of the channel. */
      stream_id: number;
    };
    answer: {
      is_subscribed: boolean;
    };
  };
  /** Get the key with which browsers subscribe */
  "GET /web_push/key": {
    params: Record<never, never>;
    answer: {
      web_push_public_key: string;
    };
  };
  /** List your browsers with push notifications */
  "GET /web_push/subscriptions": {
    params: Record<never, never>;
    answer: {
      web_push_subscriptions: ShownSubscription[];
    };
  };
  /** Subscribe a browser to push notifications */
  "POST /web_push/subscriptions": {
    params: {
      /** URL of the subscription at the browser's push service. */
      endpoint: string;
      /** Public key of the subscription, in base64 of URLs. */
      p256dh: string;
      /** Authentication secret of the subscription, in base64 of URLs. */
      auth: string;
      /** Name of the browser in the list. Default: what the request's header says. */
      user_agent?: string;
      /** Whether to push that messages were read elsewhere. Browsers that end the subscriptions of pages which do not show every push say no. */
      wants_removals?: boolean;
    };
    answer: {
      subscription_id: number;
    };
  };
  /** Unsubscribe a browser */
  "DELETE /web_push/subscriptions/{subscription_id}": {
    params: {
      /** Id of the subscription. */
      subscription_id: number;
    };
    answer: Record<never, never>;
  };
  /** Send a test notification to browsers */
  "POST /web_push/test_notification": {
    params: {
      /** Id of the subscription. Without it: all of the caller's. */
      subscription_id?: number | null;
    };
    answer: Record<never, never>;
  };
  /** Run a slash command */
  "POST /zcommand": {
    params: {
      /** `/ping`, `/dark`, `/light`, `/fluid-width`, or `/fixed-width`. */
      command: string;
    };
    answer: Record<never, never>;
  };
}
