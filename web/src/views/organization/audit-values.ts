/** Names and values in the audit log, as the pages of settings have them. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import type { GroupValue } from "../../model/state";
import type { AuditEntry } from "../../protocol/types";
import { generalLabels, permissionSections as channelPermissions } from "../channels/channel-page";
import { permissionSections as groupPermissions } from "../groups/groups-dialog";
import { groupName, partsOf, roleName, userName } from "../settings/parts/names";
import type { Section, Setting } from "../settings/parts/settings";
import { appearanceSections, notificationSections, privacySections } from "../settings/sections";
import { wordsOf } from "./audit-sentences";
import { permissionSections, settingSections } from "./settings";

function sectionsOf(action: string): Section[] {
  if (action.startsWith("realm")) return [...settingSections(), ...permissionSections()];
  if (action === "user_setting_changed" || action === "settings_default_changed") {
    return [...appearanceSections(), ...notificationSections(), ...privacySections()];
  }
  if (action.startsWith("channel_c")) return channelPermissions();
  return action.startsWith("group") ? groupPermissions() : [];
}

/** Return the setting's own definition, where a page has it. */
function settingOf(action: string, name: string): Setting | undefined {
  for (const { settings } of sectionsOf(action)) {
    const found = settings.find((each) => each.name === name);
    if (found) return found;
  }
  return undefined;
}

function knownNames(): Record<string, string> {
  return {
    ...generalLabels(),
    full_name: i18n.t("Name"),
    email: i18n.t("Email address"),
    role: i18n.t("Role"),
    timezone: i18n.t("Time zone"),
    user_ids: i18n.t("People"),
    members: i18n.t("People"),
    subgroups: i18n.t("Groups"),
    add: i18n.t("Added people"),
    delete: i18n.t("Removed people"),
    add_subgroups: i18n.t("Added groups"),
    delete_subgroups: i18n.t("Removed groups"),
    groups_added: i18n.t("Added groups"),
    groups_removed: i18n.t("Removed groups"),
    provider: i18n.t("Signed in through"),
    channel_ids: i18n.t("Channels"),
    invited_by: i18n.t("Invited by"),
    inviter_id: i18n.t("Invited by"),
    owner_id: i18n.t("Owner"),
    deactivated: i18n.t("Deactivated"),
    pattern: i18n.t("Pattern"),
    url_template: i18n.t("Address"),
    pygments_language: i18n.t("Language"),
    domain: i18n.t("Domain"),
    allow_subdomains: i18n.t("With its subdomains"),
    days: i18n.t("Days"),
    is_muted: i18n.t("Mute"),
    pin_to_top: i18n.t("Pin to the top"),
    color: i18n.t("Color"),
    bot_type: i18n.t("Kind"),
  };
}

/** What says nothing to a person: numbers of the server's own, or what the sentence has said. */
const LEFT_OUT = new Set(["invitation_ids", "group_id", "key_id", "avatar_version", "conversation_id", "count", "is_active", "email_confirmed", "fragment", "order", "purpose", "step"]);

/** Return the name of a changed value, by the label of its setting. */
function nameOf({ action }: AuditEntry, name: string): string {
  if (action === "profile_data_changed") {
    const field = (state().fields.custom_profile_fields ?? []).find((each) => String(each.id) === name);
    return field?.name ?? i18n.t("A profile field that is gone");
  }
  return settingOf(action, name)?.label ?? knownNames()[name] ?? wordsOf(name);
}

const PEOPLE = new Set(["user_ids", "members", "add", "delete", "direct_members"]);
const GROUPS = new Set(["subgroups", "add_subgroups", "delete_subgroups", "groups_added", "groups_removed"]);

function namesOf(ids: unknown[], nameOfOne: (id: number) => string): string {
  return new Intl.ListFormat(i18n.locale, { type: "conjunction" }).format(ids.map((id) => nameOfOne(Number(id))));
}

function channelNameOf(id: number): string {
  if (id < 0) return i18n.t("None");
  return state().channels.get(id)?.name ?? i18n.t("Channel {id}", { id });
}

function permissionOf(value: GroupValue): string {
  const { direct_members, direct_subgroups } = partsOf(value);
  const names = [...direct_subgroups.map((id) => groupName(state().groups.get(id))), ...direct_members.map(userName)];
  return names.length ? new Intl.ListFormat(i18n.locale).format(names) : groupName({ name: "role:nobody" });
}

function isPermission(value: unknown, name: string, setting: Setting | undefined): value is GroupValue {
  if (typeof value === "object") return value !== null && "direct_members" in value;
  return typeof value === "number" && (setting?.kind === "group" || /^can_.*_group$/.test(name));
}

/** Return one value as text: names for ids, "On" and "Off", the label of a choice. */
export function valueText(entry: AuditEntry, name: string, value: unknown): string {
  const setting = settingOf(entry.action, name);
  if (setting?.kind === "choice") {
    const isUnlimited = value === null || (name === "message_retention_days" && Number(value) < 0);
    const found = setting.options.find(([each]) => each === value || (isUnlimited && each === "unlimited"));
    if (found) return found[1];
  }
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? i18n.t("On") : i18n.t("Off");
  if (isPermission(value, name, setting)) return permissionOf(value);
  if (typeof value === "number") return numberText(name, value, setting);
  if (Array.isArray(value)) {
    if (PEOPLE.has(name)) return namesOf(value, userName);
    if (GROUPS.has(name)) return namesOf(value, (id) => groupName(state().groups.get(id)));
    return name === "channel_ids" ? namesOf(value, channelNameOf) : value.map((each) => valueText(entry, "", each)).join(", ");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

function botKinds(): string[] {
  return [i18n.t("Generic"), i18n.t("Incoming webhook"), i18n.t("Outgoing webhook"), i18n.t("Embedded")];
}

function numberText(name: string, value: number, setting: Setting | undefined): string {
  if (name === "role") return roleName(value);
  if (name === "bot_type") return botKinds()[value - 1] ?? String(value);
  if (name === "folder_id") return state().folders.get(value)?.name ?? i18n.t("Folder {id}", { id: value });
  if (name === "owner_id" || name === "invited_by" || name === "inviter_id") return userName(value);
  if (/_(?:channel|stream)_id$/.test(name)) return channelNameOf(value);
  const number = new Intl.NumberFormat(i18n.locale).format(value);
  return setting?.kind === "number" && setting.unit ? `${number} ${setting.unit}` : number;
}

export interface ShownChange {
  name: string;
  /** Undefined where there was no value, or where it is not known. */
  before: string | undefined;
  after: string | undefined;
}

/** Return what an entry has changed, without what its sentence says already. */
export function changesOf(entry: AuditEntry): ShownChange[] {
  const { before, after } = entry;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !LEFT_OUT.has(name));
  const text = (values: Record<string, unknown>, name: string) => (name in values ? valueText(entry, name, values[name]) : undefined);
  return names
    .map((name) => ({ name: nameOf(entry, name), before: text(before, name), after: text(after, name) }))
    .filter((each) => each.before !== each.after);
}
