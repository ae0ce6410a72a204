import { useId, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { realmPermits } from "../../model/permissions";
import type { GroupValue } from "../../model/state";
import { post } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import { channelAddress, closeDialog, go } from "../../router";
import { Dialog } from "../../ui/dialog";
import { LimitedText } from "../../ui/limited-text";
import { watch } from "../../ui/watch";
import { Preview } from "../compose/preview";
import { GroupPicker } from "../settings/parts/group-picker";
import { PeoplePicker } from "../settings/parts/people-picker";
import { SaveNote, useSubmit } from "../settings/parts/saving";
import { closeUnlessEditing } from "../settings/parts/unsaved";
import { retentionOptions, topicsPolicies } from "./message-settings";
import { PRIVACIES, privacyOptions, whyNotCreate, type Privacy } from "./permissions";

interface Draft {
  name: string;
  description: string;
  privacy: Privacy;
  /** Empty for none. */
  folder: string;
  people: number[];
  announces: boolean;
  isDefault: boolean;
  topicsPolicy: string;
  retention: string;
  /** Permissions that are not left to the server, by name. */
  permissions: Record<string, GroupValue>;
}

interface PartProps {
  draft: Draft;
  change: (changed: Partial<Draft>) => void;
}

/** The form of a new channel, or why the user may create none. */
export function CreateChannel() {
  watch("realm", "users", "groups");
  const allowed = privacyOptions().filter(([each]) => !whyNotCreate(each));
  if (allowed.length) return <NewChannel privacy={allowed[0]![0]} />;
  return (
    <Dialog
      title={i18n.t("Create channel")}
      onClose={closeDialog}
      footer={
        <a class="button" data-autofocus href="#channels/available">
          {i18n.t("Browse channels")}
        </a>
      }
    >
      <p>{i18n.t("You may not create channels.")}</p>
    </Dialog>
  );
}

/** What is seldom used stands under "More". */
function NewChannel({ privacy }: { privacy: Privacy }) {
  watch("realm", "folders", "users", "groups");
  const [draft, setDraft] = useState<Draft>({
    name: "",
    description: "",
    privacy,
    folder: "",
    people: [],
    announces: true,
    isDefault: false,
    topicsPolicy: "inherit",
    retention: "realm_default",
    permissions: {},
  });
  const change = (changed: Partial<Draft>) => setDraft((before) => ({ ...before, ...changed }));
  const [saving, run] = useSubmit();
  const isOff = !draft.name.trim();
  const create = async () => {
    let id = 0;
    const isDone = await run(async () => {
      id = (await post<{ id: number }>("/channels/create", requestOf(draft))).id;
    });
    if (isDone) go(channelAddress(id));
  };
  return (
    <Dialog
      title={i18n.t("Create channel")}
      onClose={() => void closeUnlessEditing()}
      footer={
        <>
          <SaveNote saving={saving} />
          <a class="button" href="#channels/available">
            {i18n.t("Cancel")}
          </a>
          <button type="submit" form="create-channel" class="primary" aria-disabled={isOff || undefined}>
            {i18n.t("Create")}
          </button>
        </>
      }
    >
      <form
        id="create-channel"
        data-unsaved={!isOff || draft.description !== "" || undefined}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isOff) void create();
        }}
      >
        <NameAndDescription draft={draft} change={change} />
        <PrivacyChoice draft={draft} change={change} />
        <Permission name="can_send_message_group" label={i18n.t("May send messages")} draft={draft} change={change} />
        <FolderChoice draft={draft} change={change} />
        <div class="field">
          <span class="field-name">{i18n.t("Add people")}</span>
          <PeoplePicker label={i18n.t("Add people")} chosen={draft.people} onChange={(people) => change({ people })} without={new Set([state().userId])} takesMany />
        </div>
        <Announcement draft={draft} change={change} />
        <More draft={draft} change={change} />
      </form>
    </Dialog>
  );
}

const mayBeDefault = ({ privacy }: Draft) => Boolean(state().fields.is_admin) && !PRIVACIES[privacy].isPrivate;

function announcementsId({ privacy }: Draft): number | undefined {
  const id = state().fields.realm_new_stream_announcements_stream_id ?? -1;
  return id > 0 && !PRIVACIES[privacy].isPrivate ? id : undefined;
}

function requestOf(draft: Draft): Record<string, Json> {
  const { isPrivate, ...rest } = PRIVACIES[draft.privacy];
  const days = Number(draft.retention);
  return {
    name: draft.name.trim(),
    description: draft.description,
    subscribers: [state().userId, ...draft.people],
    invite_only: isPrivate,
    ...rest,
    ...(draft.folder ? { folder_id: Number(draft.folder) } : {}),
    ...(mayBeDefault(draft) && draft.isDefault ? { is_default_stream: true } : {}),
    ...(draft.topicsPolicy === "inherit" ? {} : { topics_policy: draft.topicsPolicy }),
    ...(draft.retention === "realm_default" ? {} : { message_retention_days: Number.isNaN(days) ? draft.retention : days }),
    ...(draft.permissions as unknown as Record<string, Json>),
    announce: announcementsId(draft) !== undefined && draft.announces,
  };
}

function NameAndDescription({ draft, change }: PartProps) {
  const { fields } = state();
  const [isPreviewed, setPreviewed] = useState(false);
  const id = useId();
  return (
    <>
      <label class="field">
        <span>{i18n.t("Name")}</span>
        <LimitedText data-autofocus required autocomplete="off" max={fields.max_stream_name_length} value={draft.name} onText={(name) => change({ name })} />
      </label>
      <div class="field">
        <span class="field-head">
          <label for={id}>{i18n.t("Description")}</label>
          <button type="button" class="small" aria-pressed={isPreviewed} aria-label={i18n.t("Preview of the description")} onClick={() => setPreviewed(!isPreviewed)}>
            {i18n.t("Preview")}
          </button>
        </span>
        {isPreviewed ? (
          <Preview text={draft.description} />
        ) : (
          <LimitedText id={id} rows={2} max={fields.max_stream_description_length} value={draft.description} onText={(description) => change({ description })} />
        )}
      </div>
    </>
  );
}

function PrivacyChoice({ draft, change }: PartProps) {
  return (
    <fieldset class="choices">
      <legend>{i18n.t("Privacy")}</legend>
      {privacyOptions().map(([value, label]) => {
        const why = whyNotCreate(value);
        return (
          <label key={value} class="choice">
            <input type="radio" name="privacy" checked={draft.privacy === value} disabled={Boolean(why)} onChange={() => change({ privacy: value })} />
            <span>
              {label}
              {why ? <span class="setting-hint"> {why}</span> : null}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}

/** A permission of the channel; the server's own default until another is chosen. */
function Permission({ name, label, draft, change }: PartProps & { name: string; label: string }) {
  const id = useId();
  const usual = state().fields.server_supported_permission_settings?.stream?.[name]?.default_group_name;
  const group = [...state().groups.values()].find((each) => each.is_system_group && each.name === usual);
  const value = draft.permissions[name] ?? group?.id ?? { direct_members: [state().userId], direct_subgroups: [] };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <GroupPicker id={id} name={name} of="stream" label={label} value={value} isOff={false} onChange={(chosen) => change({ permissions: { ...draft.permissions, [name]: chosen } })} />
    </div>
  );
}

function FolderChoice({ draft, change }: PartProps) {
  const folders = [...state().folders.values()].filter((each) => !each.is_archived).sort((one, other) => COLLATOR.compare(one.name, other.name));
  if (!folders.length) return null;
  return <Choice label={i18n.t("Folder")} value={draft.folder} options={[["", i18n.t("None")], ...folders.map((each) => [String(each.id), each.name] as const)]} onChange={(folder) => change({ folder })} />;
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string | number, label: string])[];
  onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, name]) => (
          <option key={each} value={String(each)}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Announcement({ draft, change }: PartProps) {
  const id = announcementsId(draft);
  if (id === undefined) return null;
  const channel = state().channels.get(id)?.name ?? i18n.t("the channel for announcements");
  return (
    <label class="choice">
      <input type="checkbox" checked={draft.announces} onChange={(event) => change({ announces: event.currentTarget.checked })} />
      <span>{i18n.t("Announce it in {channel}", { channel })}</span>
    </label>
  );
}

function More({ draft, change }: PartProps) {
  return (
    <details class="more-settings">
      <summary>{i18n.t("More")}</summary>
      {realmPermits(state(), "can_set_topics_policy_group") ? (
        <Choice label={i18n.t("Topics")} value={draft.topicsPolicy} options={topicsPolicies()} onChange={(topicsPolicy) => change({ topicsPolicy })} />
      ) : null}
      {state().fields.is_owner ? <Choice label={i18n.t("Keep messages")} value={draft.retention} options={retentionOptions()} onChange={(retention) => change({ retention })} /> : null}
      {mayBeDefault(draft) ? (
        <label class="choice">
          <input type="checkbox" checked={draft.isDefault} onChange={(event) => change({ isDefault: event.currentTarget.checked })} />
          <span>{i18n.t("New users are subscribed to it")}</span>
        </label>
      ) : null}
      <Permission name="can_add_subscribers_group" label={i18n.t("May add people")} draft={draft} change={change} />
      <Permission name="can_administer_channel_group" label={i18n.t("May change its settings")} draft={draft} change={change} />
    </details>
  );
}
