import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { realmPermits, self } from "../../model/permissions";
import type { Channel } from "../../model/state";
import { del, get } from "../../protocol/client";
import { channelAddress, closeDialog } from "../../router";
import { type Confirmation, confirm, Dialog } from "../../ui/dialog";
import { deletionOf, retentionOptions, topicsPolicies } from "./message-settings";
import { watch } from "../../ui/watch";
import { useState } from "preact/hooks";
import { channelRefusal } from "../compose/rules";
import { ActionButton, SaveNote, useSaving } from "../settings/parts/saving";
import { SectionsDialog } from "../settings/parts/sections-dialog";
import { type Section, type Setting, SettingsForm, type Source } from "../settings/parts/settings";
import { ChannelMembers } from "./members";
import { privacyOf, privacyOptions, whyNotAdminister, whyNotJoin } from "./permissions";
import { isDefault, join, leave, saveChannel, saveOwn } from "./requests";

/** The settings of one channel. */
export function ChannelPage({ id, panel }: { id: number; panel: string | undefined }) {
  watch("channels", "realm", "groups", "users", "folders");
  const channel = state().channels.get(id);
  if (!channel) {
    return (
      <Dialog title={i18n.t("Channel")} onClose={closeDialog}>
        <p>{i18n.t("This channel does not exist, or you cannot see it.")}</p>
        <a href="#channels/all">{i18n.t("All channels")}</a>
      </Dialog>
    );
  }
  return (
    <SectionsDialog
      title={`${channel.is_archived ? `${i18n.t("Archived")}: ` : ""}${channel.name}`}
      base={`#channels/${id}/`}
      current={panel === "subscribers" ? "members" : panel}
      panels={[
        { id: "general", title: i18n.t("General"), render: () => <General channel={channel} /> },
        { id: "personal", title: i18n.t("For you"), render: () => <Personal channel={channel} /> },
        { id: "members", title: i18n.t("Members"), render: () => <ChannelMembers channel={channel} /> },
        { id: "permissions", title: i18n.t("Permissions"), render: () => <SettingsForm sections={permissionSections()} source={permissionSource(channel)} /> },
      ]}
    />
  );
}

function sourceOf(channel: Channel): Source {
  const me = self(state());
  const values: Record<string, unknown> = {
    privacy: privacyOf(channel),
    is_default_stream: isDefault(channel),
    message_retention_days: retentionOf(channel.message_retention_days),
  };
  return {
    read: (name) => (name in values ? values[name] : channel[name as keyof Channel]),
    save: (name, value) => saveChannel(channel, name, value),
    reason: (name) => {
      if (channel.is_archived) return i18n.t("This channel is archived.");
      if (name === "message_retention_days" && !me?.is_owner) return i18n.t("Only owners may change this.");
      if ((name === "is_default_stream" || name === "default_push_notifications") && !me?.is_admin) return i18n.t("Only administrators may change this.");
      if (name === "topics_policy" && !realmPermits(state(), "can_set_topics_policy_group")) return i18n.t("You may not change this.");
      return whyNotAdminister(channel);
    },
  };
}

function retentionOf(days: number | null | undefined): number | string {
  if (days === null || days === undefined) return "realm_default";
  return days < 0 ? "unlimited" : days;
}

/** Return how the fields of a channel are called, where they are not settings of their own. */
export function generalLabels(): Record<string, string> {
  return {
    name: i18n.t("Name"),
    description: i18n.t("Description"),
    invite_only: i18n.t("Private"),
    is_web_public: i18n.t("Readable without an account"),
    history_public_to_subscribers: i18n.t("New subscribers see earlier messages"),
    is_archived: i18n.t("Archived"),
    is_default: i18n.t("New users are subscribed to it"),
    topics_policy: i18n.t("Topics"),
    folder_id: i18n.t("Folder"),
    message_retention_days: i18n.t("Keep messages"),
    default_push_notifications: i18n.t("New subscribers get push notifications"),
  };
}

export function generalSections(channel: Channel): Section[] {
  const { fields, folders } = state();
  const folderOptions = [...folders.values()]
    .filter((each) => !each.is_archived || each.id === channel.folder_id)
    .sort((one, other) => COLLATOR.compare(one.name, other.name))
    .map((each) => [each.id, each.name] as const);
  return [
    {
      title: i18n.t("About"),
      settings: [
        { kind: "text", name: "name", label: i18n.t("Name"), max: fields.max_stream_name_length },
        { kind: "longtext", name: "description", label: i18n.t("Description"), max: fields.max_stream_description_length },
        { kind: "choice", name: "privacy", label: i18n.t("Privacy"), options: privacyOptions(), confirm: (next) => openingOf(channel, next) },
        { kind: "choice", name: "folder_id", label: i18n.t("Folder"), options: [[null, i18n.t("None")], ...folderOptions] },
        { kind: "toggle", name: "is_default_stream", label: i18n.t("New users are subscribed to it") },
      ],
    },
    {
      title: i18n.t("Messages"),
      settings: [
        {
          kind: "choice",
          name: "topics_policy",
          label: i18n.t("Topics"),
          options: topicsPolicies(),
        },
        { kind: "choice", name: "message_retention_days", label: i18n.t("Keep messages"), options: retentionOptions(channel.message_retention_days), confirm: (days) => deletionOf(days, channel.stream_id) },
        { kind: "toggle", name: "default_push_notifications", label: i18n.t("New subscribers get push notifications") },
      ],
    },
  ];
}

/** Ask before messages of a private channel are opened to others. */
function openingOf(channel: Channel, privacy: unknown): Confirmation | undefined {
  if (!channel.invite_only || String(privacy).startsWith("private")) return undefined;
  return {
    title: i18n.t("Open {name} to others?", { name: channel.name }),
    text: i18n.t("All messages that were sent here while it was private can be read by everyone who can read the channel then."),
    action: i18n.t("Open"),
    isDangerous: true,
  };
}

function General({ channel }: { channel: Channel }) {
  return (
    <>
      <div class="panel-actions">
        <a class="button small" href={channelAddress(channel.stream_id)}>
          {i18n.t("Open channel")}
        </a>
        {channel.is_subscribed ? (
          <ActionButton kind="small" name={i18n.t("Leave")} done={i18n.t("You have left.")} action={() => leave(channel)} />
        ) : (
          <ActionButton kind="small" name={i18n.t("Join")} done={i18n.t("Subscribed")} reason={whyNotJoin(channel)} action={() => join(channel)} />
        )}
        <a class="button small" href="#channels/all">
          {i18n.t("All channels")}
        </a>
      </div>
      <SettingsForm sections={generalSections(channel)} source={sourceOf(channel)} />
      {channelRefusal(state(), channel) ? null : <EmailAddress channel={channel} />}
      <Archive channel={channel} />
    </>
  );
}

function EmailAddress({ channel }: { channel: Channel }) {
  const [address, setAddress] = useState<string>();
  const [saving, run] = useSaving();
  return (
    <section class="setting-section">
      <h4>{i18n.t("Email address")}</h4>
      <p class="faded">{i18n.t("Email sent to this address becomes a message in the channel. Keep it secret.")}</p>
      {address ? (
        <input type="text" readOnly class="copy-field" aria-label={i18n.t("Email address of the channel")} value={address} onFocus={(event) => event.currentTarget.select()} />
      ) : (
        <button
          type="button"
          class="small"
          onClick={() =>
            void run(async () => {
              const { email } = await get<{ email: string }>(`/streams/${channel.stream_id}/email_address`);
              setAddress(email);
            })
          }
        >
          {i18n.t("Show email address")}
        </button>
      )}
      <SaveNote saving={saving} done=" " />
    </section>
  );
}

function Archive({ channel }: { channel: Channel }) {
  const reason = whyNotAdminister(channel);
  const archive = async () => {
    const isSure = await confirm({
      title: i18n.t("Archive {name}?", { name: channel.name }),
      text: i18n.t("Its messages stay readable and can be found, but no one can write there any more. Settings are kept for when it is brought back."),
      action: i18n.t("Archive"),
      isDangerous: true,
    });
    if (isSure) await del(`/streams/${channel.stream_id}`);
  };
  return (
    <section class="setting-section">
      <h4>{channel.is_archived ? i18n.t("Bring back") : i18n.t("Archive")}</h4>
      {channel.is_archived ? (
        <ActionButton key="unarchive" name={i18n.t("Unarchive channel")} reason={reason} done={i18n.t("The channel is back.")} action={() => saveChannel(channel, "is_archived", false)} />
      ) : (
        <ActionButton key="archive" kind="danger" name={i18n.t("Archive channel")} reason={reason} done=" " action={archive} />
      )}
      {reason ? <p class="faded">{reason}</p> : null}
    </section>
  );
}

function Personal({ channel }: { channel: Channel }) {
  if (!channel.is_subscribed) {
    return (
      <p>
        {i18n.t("Join the channel to choose how it looks and notifies you.")}{" "}
        <ActionButton kind="small" name={i18n.t("Join")} reason={whyNotJoin(channel)} action={() => join(channel)} />
      </p>
    );
  }
  const options = [
    [null, i18n.t("As in your settings")],
    [true, i18n.t("On")],
    [false, i18n.t("Off")],
  ] as const;
  const choice = (name: string, label: string): Setting => ({ kind: "choice", name, label, options });
  return (
    <SettingsForm
      sections={[
        {
          title: i18n.t("In the list"),
          settings: [
            { kind: "color", name: "color", label: i18n.t("Color") },
            { kind: "toggle", name: "pin_to_top", label: i18n.t("Pin to the top") },
            { kind: "toggle", name: "is_muted", label: i18n.t("Mute"), hint: i18n.t("Its messages do not count as unread elsewhere and do not notify you.") },
          ],
        },
        {
          title: i18n.t("Notifications of all messages"),
          settings: [
            choice("desktop_notifications", i18n.t("On the desktop")),
            choice("audible_notifications", i18n.t("With a sound")),
            choice("push_notifications", i18n.t("On the phone")),
            choice("email_notifications", i18n.t("By email")),
            choice("wildcard_mentions_notify", i18n.t("When all are mentioned")),
          ],
        },
      ]}
      source={{ read: (name) => channel[name as keyof Channel] ?? null, save: (name, value) => saveOwn(channel, name, value) }}
    />
  );
}

export function permissionSections(): Section[] {
  const group = (name: string, label: string): Setting => ({ kind: "group", of: "stream", name, label });
  return [
    {
      title: i18n.t("The channel"),
      settings: [
        group("can_administer_channel_group", i18n.t("May change its settings")),
        group("can_subscribe_group", i18n.t("May join, even if it is private")),
        group("can_add_subscribers_group", i18n.t("May add people")),
        group("can_remove_subscribers_group", i18n.t("May remove people")),
      ],
    },
    {
      title: i18n.t("Messages"),
      settings: [
        group("can_send_message_group", i18n.t("May send messages")),
        group("can_create_topic_group", i18n.t("May begin topics")),
        group("can_resolve_topics_group", i18n.t("May resolve topics")),
        group("can_pin_group", i18n.t("May pin topics and messages")),
        group("can_move_messages_within_channel_group", i18n.t("May move messages between its topics")),
        group("can_move_messages_out_of_channel_group", i18n.t("May move messages to other channels")),
        group("can_delete_own_message_group", i18n.t("May delete their own messages")),
        group("can_delete_any_message_group", i18n.t("May delete messages of others")),
      ],
    },
  ];
}

function permissionSource(channel: Channel): Source {
  const source = sourceOf(channel);
  return {
    ...source,
    reason: (name) => {
      const isDeletion = name.startsWith("can_delete_");
      if (isDeletion && !realmPermits(state(), "can_set_delete_message_policy_group")) return i18n.t("You may not change this.");
      return source.reason!(name);
    },
  };
}
