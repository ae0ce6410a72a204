import { state } from "../../app";
import { i18n } from "../../i18n";
import { amount } from "../../ui/time";
import { deletionOf } from "../channels/message-settings";
import { languageChoices } from "../../languages";
import { COLLATOR } from "../../model/counts";
import { del, post } from "../../protocol/client";
import { watch } from "../../ui/watch";
import { PictureField } from "../settings/parts/picture-field";
import { type Section, type Setting, SettingsForm } from "../settings/parts/settings";
import { appearanceSections, notificationSections, privacySections } from "../settings/sections";
import { defaultsSource, realmSource, whyNotAdmin } from "./source";

const toggle = (name: string, label: string): Setting => ({ kind: "toggle", name, label });
const group = (name: string, label: string): Setting => ({ kind: "group", of: "realm", name, label });
const choice = (name: string, label: string, options: readonly (readonly [unknown, string])[]): Setting => ({ kind: "choice", name, label, options });

export function aboutSections(): Section[] {
  return [
    {
      title: i18n.t("Name and description"),
      settings: [
        { kind: "text", name: "name", label: i18n.t("Name"), max: 40 },
        { kind: "longtext", name: "description", label: i18n.t("Description"), max: 1000 },
        choice("org_type", i18n.t("Kind of organization"), organizationTypes()),
        toggle("want_advertise_in_communities_directory", i18n.t("May be listed in directories of communities")),
      ],
    },
  ];
}

/** Name, description and pictures of the organization. */
export function OrganizationProfile() {
  watch("realm");
  const { fields } = state();
  const reason = whyNotAdmin();
  const upload = (path: string, extra: Record<string, string>) => (file: File) => {
    const form = new FormData();
    form.append("file", file);
    for (const [name, value] of Object.entries(extra)) form.append(name, value);
    return post(path, form);
  };
  const picture = (label: string, url: string | undefined, max: number | undefined, night?: boolean) => (
    <PictureField
      key={label}
      label={label}
      picture={<img src={url} alt="" />}
      maxMib={max ?? 0}
      reason={reason}
      upload={upload(night === undefined ? "/realm/icon" : "/realm/logo", night === undefined ? {} : { night: String(night) })}
      remove={() => (night === undefined ? del("/realm/icon") : del("/realm/logo", { night }))}
    />
  );
  return (
    <>
      <SettingsForm source={realmSource} sections={aboutSections()} />
      {picture(i18n.t("Icon"), fields.realm_icon_url, fields.max_icon_file_size_mib)}
      {picture(i18n.t("Logo for light themes"), fields.realm_logo_url, fields.max_logo_file_size_mib, false)}
      {picture(i18n.t("Logo for dark themes"), fields.realm_night_logo_url, fields.max_logo_file_size_mib, true)}
    </>
  );
}

function organizationTypes(): readonly (readonly [number, string])[] {
  return [
    [0, i18n.t("Not specified")],
    [10, i18n.t("Business")],
    [20, i18n.t("Open-source project")],
    [30, i18n.t("Education (non-profit)")],
    [35, i18n.t("Education (for profit)")],
    [40, i18n.t("Research")],
    [50, i18n.t("Event or conference")],
    [60, i18n.t("Non-profit (registered)")],
    [70, i18n.t("Government")],
    [80, i18n.t("Political group")],
    [90, i18n.t("Community")],
    [100, i18n.t("Personal")],
    [1000, i18n.t("Other")],
  ];
}

function limits(): readonly (readonly [unknown, string])[] {
  return [
    [120, i18n.t("2 minutes")],
    [600, i18n.t("10 minutes")],
    [3600, i18n.t("1 hour")],
    [86_400, i18n.t("1 day")],
    [604_800, i18n.t("1 week")],
    ["unlimited", i18n.t("Without a limit")],
  ];
}

function channelOptions(): readonly (readonly [number, string])[] {
  const channels = [...state().channels.values()].filter((each) => !each.is_archived).sort((one, other) => COLLATOR.compare(one.name, other.name));
  return [[-1, i18n.t("None")], ...channels.map((each) => [each.stream_id, each.name] as const)];
}

export function settingSections(): Section[] {
  const { fields } = state();
  const providers = Object.values((fields.realm_available_video_chat_providers ?? {}) as Record<string, { id: number; name: string }>);
  const weekday = new Intl.DateTimeFormat(i18n.locale, { weekday: "long", timeZone: "UTC" });
  const days = [0, 1, 2, 3, 4, 5, 6].map((day) => [day, weekday.format(new Date(Date.UTC(2024, 0, 1 + day)))] as const);
  return [
    {
      title: i18n.t("Joining"),
      settings: [
        toggle("invite_required", i18n.t("Only with an invitation")),
        toggle("emails_restricted_to_domains", i18n.t("Only with an email address of the organization's domains")),
        toggle("disallow_disposable_email_addresses", i18n.t("Refuse disposable email addresses")),
        { kind: "number", name: "waiting_period_threshold", label: i18n.t("New members become full members after"), min: 0, max: 3650, unit: i18n.t("days") },
        toggle("send_welcome_emails", i18n.t("Send an email of welcome")),
        { kind: "longtext", name: "welcome_message_custom_text", label: i18n.t("Text added to the greeting of new users"), max: 8000 },
      ],
    },
    {
      title: i18n.t("Accounts"),
      settings: [
        choice("second_factor_required_of", i18n.t("Signing in with a password takes a second factor"), [
          ["nobody", i18n.t("For nobody")],
          ["owners", i18n.t("For owners")],
          ["administrators", i18n.t("For administrators and owners")],
          ["moderators", i18n.t("For moderators and higher roles")],
          ["members", i18n.t("For all but guests")],
          ["everyone", i18n.t("For all")],
        ]),
        { kind: "number", name: "second_factor_grace_days", label: i18n.t("Time to set up a second factor"), min: 0, max: 90, unit: i18n.t("days") },
        toggle("second_factor_after_provider", i18n.t("Ask for the second factor after a sign-in at another site, too")),
        toggle("name_changes_disabled", i18n.t("Only administrators change names")),
        toggle("email_changes_disabled", i18n.t("Only administrators change email addresses")),
        toggle("avatar_changes_disabled", i18n.t("Only administrators change pictures")),
        choice("default_avatar_source", i18n.t("Pictures of new users"), [
          ["J", i18n.t("Patterns that this server makes")],
          ["G", i18n.t("From Gravatar, if the server permits it")],
        ]),
        toggle("require_unique_names", i18n.t("Names are unique")),
        toggle("presence_disabled", i18n.t("Do not show activity")),
        toggle("enable_read_receipts", i18n.t("Read receipts")),
        toggle("enable_guest_user_indicator", i18n.t("Mark guests beside their names")),
        toggle("enable_guest_user_dm_warning", i18n.t("Warn before writing a direct message to a guest")),
      ],
    },
    {
      title: i18n.t("Messages"),
      settings: [
        toggle("allow_message_editing", i18n.t("Senders may edit their messages")),
        choice("message_content_edit_limit_seconds", i18n.t("Edit within"), limits()),
        choice("message_content_delete_limit_seconds", i18n.t("Delete within"), limits()),
        choice("move_messages_within_stream_limit_seconds", i18n.t("Move to another topic within"), limits()),
        choice("move_messages_between_streams_limit_seconds", i18n.t("Move to another channel within"), limits()),
        choice("message_edit_history_visibility_policy", i18n.t("Show the history of edits"), [
          ["all", i18n.t("All of it")],
          ["moves", i18n.t("Only moves")],
          ["none", i18n.t("None of it")],
        ]),
        choice("topics_policy", i18n.t("Topics"), [
          ["allow_empty_topic", i18n.t("Messages may go without a topic")],
          ["disable_empty_topic", i18n.t("Every message needs a topic")],
        ]),
        {
          kind: "choice",
          name: "message_retention_days",
          label: i18n.t("Keep messages"),
          options: [
            ["unlimited", i18n.t("Forever")],
            ...[30, 90, 180].map((count) => [count, amount(count, "day")] as const),
            ...[1, 3].map((count) => [count * 365, amount(count, "year")] as const),
          ],
          confirm: (days) => deletionOf(days),
        },
        toggle("inline_image_preview", i18n.t("Show linked pictures")),
        toggle("inline_url_embed_preview", i18n.t("Show previews of linked pages")),
        choice("media_preview_size", i18n.t("Size of pictures and videos in messages"), [
          [100, i18n.t("Small")],
          [150, i18n.t("Medium")],
          [200, i18n.t("Large")],
        ]),
        { kind: "text", name: "default_code_block_language", label: i18n.t("Language of code blocks that name none"), max: 40 },
      ],
    },
    {
      title: i18n.t("Announcements"),
      settings: [
        choice("new_stream_announcements_stream_id", i18n.t("Announce new channels in"), channelOptions()),
        choice("signup_announcements_stream_id", i18n.t("Announce new users in"), channelOptions()),
        choice("zulip_update_announcements_stream_id", i18n.t("Announce new features in"), channelOptions()),
        toggle("send_channel_events_messages", i18n.t("Announce in a channel that it was created or changed")),
        choice("moderation_request_channel_id", i18n.t("Send reports to"), channelOptions()),
      ],
    },
    {
      title: i18n.t("Notifications and other"),
      settings: [
        toggle("message_content_allowed_in_email_notifications", i18n.t("Quote messages in emails")),
        toggle("require_e2ee_push_notifications", i18n.t("Send phones only push notifications that are encrypted end to end")),
        toggle("digest_emails_enabled", i18n.t("Send digests to people who have been away")),
        choice("digest_weekday", i18n.t("Day of digests"), days),
        choice("default_language", i18n.t("Language"), languageChoices(state().fields.realm_default_language)),
        choice("video_chat_provider", i18n.t("Calls"), providers.map(({ id, name }) => [id, id === 0 ? i18n.t("None") : name] as const)),
        { kind: "text", name: "jitsi_server_url", label: i18n.t("Address of the Jitsi server"), max: 200, hint: i18n.t("Empty for the one of this server.") },
        toggle("enable_spectator_access", i18n.t("Web-public channels are readable without an account")),
      ],
    },
  ];
}

export function SettingsPanel() {
  watch("realm", "channels");
  return (
    <>
      <SettingsForm sections={settingSections()} source={realmSource} />
      <SignInMethods />
    </>
  );
}

/** Ways to sign in. One of them must stay. */
function SignInMethods() {
  const methods = (state().fields.realm_authentication_methods ?? {}) as Record<string, { enabled: boolean; available: boolean }>;
  const available = Object.entries(methods).filter(([, { available: isAvailable }]) => isAvailable);
  return (
    <SettingsForm
      sections={[{ title: i18n.t("Ways to sign in"), settings: available.map(([name]) => toggle(name, name === "Email" ? i18n.t("Email") : name)) }]}
      source={{
        read: (name) => methods[name]?.enabled,
        save: (name, value) => {
          const wanted = Object.fromEntries(Object.entries(methods).map(([each, { enabled }]) => [each, enabled]));
          return realmSource.save("authentication_methods", { ...wanted, [name]: value });
        },
        reason: () => realmSource.reason!("authentication_methods"),
      }}
    />
  );
}

export function permissionSections(): Section[] {
  return [
    {
      title: i18n.t("Joining, people and groups"),
      settings: [
        group("can_invite_users_group", i18n.t("May invite people by email")),
        group("create_multiuse_invite_group", i18n.t("May create invitation links")),
        group("can_access_all_users_group", i18n.t("See all users")),
        group("can_create_groups", i18n.t("May create groups")),
        group("can_manage_all_groups", i18n.t("May manage all groups")),
      ],
    },
    {
      title: i18n.t("Channels"),
      settings: [
        group("can_create_public_channel_group", i18n.t("May create public channels")),
        group("can_create_web_public_channel_group", i18n.t("May create web-public channels")),
        group("can_create_private_channel_group", i18n.t("May create private channels")),
        group("can_add_subscribers_group", i18n.t("May add people to channels")),
        group("can_set_topics_policy_group", i18n.t("May decide about topics of a channel")),
        group("can_set_delete_message_policy_group", i18n.t("May decide about deletions in a channel")),
      ],
    },
    {
      title: i18n.t("Messages"),
      settings: [
        group("direct_message_initiator_group", i18n.t("May start direct message conversations")),
        group("direct_message_permission_group", i18n.t("Of whom one must be in each direct message conversation")),
        group("can_mention_many_users_group", i18n.t("May mention all in large channels")),
        group("can_move_messages_between_topics_group", i18n.t("May move messages to another topic")),
        group("can_move_messages_between_channels_group", i18n.t("May move messages to another channel")),
        group("can_resolve_topics_group", i18n.t("May resolve topics")),
        group("can_pin_group", i18n.t("May pin topics and messages")),
        group("can_delete_own_message_group", i18n.t("May delete their own messages")),
        group("can_delete_any_message_group", i18n.t("May delete messages of others")),
        group("can_summarize_topics_group", i18n.t("May have topics summarized")),
      ],
    },
    {
      title: i18n.t("Bots and emoji"),
      settings: [
        group("can_create_bots_group", i18n.t("May create bots")),
        group("can_create_write_only_bots_group", i18n.t("May create bots that only send messages")),
        group("can_add_custom_emoji_group", i18n.t("May add emoji")),
      ],
    },
  ];
}

export function PermissionsPanel() {
  watch("realm", "groups", "users");
  return <SettingsForm sections={permissionSections()} source={realmSource} />;
}

/** Return the personal settings that have a default for new users. */
export function defaultSections(): Section[] {
  const known = state().fields.realm_user_settings_defaults ?? {};
  return [...appearanceSections(), ...notificationSections(), ...privacySections()]
    .map((section) => ({ ...section, settings: section.settings.filter(({ name }) => name in known) }))
    .filter(({ settings }) => settings.length);
}

/** The personal settings that new users begin with. */
export function DefaultsPanel() {
  watch("realm", "settings");
  return <SettingsForm sections={defaultSections()} source={defaultsSource} />;
}
