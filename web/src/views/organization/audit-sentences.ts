/** The audit log's entries as sentences: "Iago made Hamlet a moderator". */

import { i18n } from "../../i18n";
import type { AuditEntry } from "../../protocol/types";

/** Stand for the elements of a sentence: who has made the change, and what was changed. */
export type Parts = Record<"actor" | "subject", string>;

type Sentence = (parts: Parts, entry: AuditEntry) => string;

const isOwn = ({ actor_id, subject_id }: AuditEntry) => actor_id !== null && actor_id === subject_id;
const countOf = (value: unknown) => (Array.isArray(value) ? value.length : 0);

function newRole(parts: Parts, { after }: AuditEntry): string {
  switch (after.role) {
    case 100:
      return i18n.t("{actor} made {subject} an owner", parts);
    case 200:
      return i18n.t("{actor} made {subject} an administrator", parts);
    case 300:
      return i18n.t("{actor} made {subject} a moderator", parts);
    case 600:
      return i18n.t("{actor} made {subject} a guest", parts);
    default:
      return i18n.t("{actor} made {subject} a member", parts);
  }
}

function channelChanged(parts: Parts, { before, after }: AuditEntry): string {
  if (after.is_archived === true) return i18n.t("{actor} archived the channel {subject}", parts);
  if (after.is_archived === false) return i18n.t("{actor} brought the channel {subject} back", parts);
  if (after.name !== undefined) return i18n.t("{actor} renamed the channel {old} to {subject}", { ...parts, old: String(before.name) });
  return i18n.t("{actor} changed the channel {subject}", parts);
}

function groupChanged(parts: Parts, { after }: AuditEntry): string {
  if (after.deactivated === true) return i18n.t("{actor} deactivated the group {subject}", parts);
  if (after.deactivated === false) return i18n.t("{actor} reactivated the group {subject}", parts);
  return i18n.t("{actor} changed the group {subject}", parts);
}

function channelGroupChanged(parts: Parts, { before, after }: AuditEntry): string {
  if (before.group_id === undefined && after.group_id !== undefined) return i18n.t("{actor} added the channel group {subject}", parts);
  if (before.group_id !== undefined && after.group_id === undefined) return i18n.t("{actor} removed the channel group {subject}", parts);
  return i18n.t("{actor} changed the channel group {subject}", parts);
}

function settingChanged(parts: Parts, entry: AuditEntry): string {
  const isName = entry.after.full_name !== undefined;
  if (isOwn(entry)) return isName ? i18n.t("{actor} changed their name", parts) : i18n.t("{actor} changed their settings", parts);
  return isName ? i18n.t("{actor} changed the name of {subject}", parts) : i18n.t("{actor} changed the settings of {subject}", parts);
}

const ofPeople: Record<string, Sentence> = {
  user_created: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} created an account", parts) : i18n.t("{actor} created the account of {subject}", parts),
  invitation_accepted: (parts) => i18n.t("{subject} joined by an invitation", parts),
  user_deactivated: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} deactivated their account", parts) : i18n.t("{actor} deactivated {subject}", parts),
  user_reactivated: (parts) => i18n.t("{actor} reactivated {subject}", parts),
  user_content_deleted: (parts) => i18n.t("{actor} had messages or the profile of {subject} deleted", parts),
  user_compliance_appointed: (parts) => i18n.t("{actor} appointed {subject} as a compliance officer", parts),
  user_compliance_dismissed: (parts) => i18n.t("{actor} dismissed {subject} as a compliance officer", parts),
  user_data_exported: (parts) => i18n.t("{actor} began an export of their own data", parts),
  user_erased: (parts) => i18n.t("{actor} erased the data of {subject}", parts),
  user_erasure_ended: (parts) => i18n.t("{actor} stopped erasing {subject} because of a legal hold", parts),
  user_granted: (parts) => i18n.t("{actor} changed what {subject} may do through the API", parts),
  user_role_changed: newRole,
  user_claims_followed: (parts, { after }) => i18n.t("{provider} changed the role or groups of {subject}", { ...parts, provider: String(after.provider) }),
  user_email_changed: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} changed their email address", parts) : i18n.t("{actor} changed the email address of {subject}", parts),
  user_email_confirmed: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} confirmed their email address", parts) : i18n.t("{actor} confirmed the email address of {subject}", parts),
  user_password_changed: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} changed their password", parts) : i18n.t("{actor} changed the password of {subject}", parts),
  user_password_link_made: (parts) => i18n.t("{actor} made a link to set the password of {subject}", parts),
  user_sign_in_link_made: (parts) => i18n.t("{actor} made a sign-in link for {subject}", parts),
  user_sign_in_link_used: (parts) => i18n.t("{subject} signed in by a link", parts),
  user_second_factor_added: (parts) => i18n.t("{subject} added a second factor", parts),
  user_second_factor_removed: (parts) => i18n.t("{subject} removed a second factor", parts),
  user_second_factors_reset: (parts) => i18n.t("{actor} reset the second factors of {subject}", parts),
  user_recovery_codes_renewed: (parts) => i18n.t("{subject} made new recovery codes", parts),
  user_recovery_code_used: (parts) => i18n.t("{subject} signed in with a recovery code", parts),
  user_key_regenerated: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} renewed their API key", parts) : i18n.t("{actor} renewed the API key of {subject}", parts),
  user_setting_changed: settingChanged,
  user_status_changed: (parts) => i18n.t("{actor} changed the status of {subject}", parts),
  profile_data_changed: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} changed their profile", parts) : i18n.t("{actor} changed the profile of {subject}", parts),
  avatar_changed: (parts, entry) =>
    isOwn(entry) ? i18n.t("{actor} changed their picture", parts) : i18n.t("{actor} changed the picture of {subject}", parts),
  api_key_created: (parts) => i18n.t("{actor} created an API key for {subject}", parts),
  api_key_revoked: (parts) => i18n.t("{actor} revoked an API key of {subject}", parts),
  onboarding_step_seen: (parts) => i18n.t("{actor} has seen an introduction", parts),
  navigation_view_added: (parts) => i18n.t("{actor} added a view to their list", parts),
  navigation_view_changed: (parts) => i18n.t("{actor} changed a view of their list", parts),
  navigation_view_removed: (parts) => i18n.t("{actor} removed a view from their list", parts),
  bot_created: (parts) => i18n.t("{actor} created the bot {subject}", parts),
  bot_changed: (parts) => i18n.t("{actor} changed the bot {subject}", parts),
  bot_key_regenerated: (parts) => i18n.t("{actor} renewed the API key of the bot {subject}", parts),
  bot_command_added: (parts) => i18n.t("{actor} added a command to the bot {subject}", parts),
  bot_command_changed: (parts) => i18n.t("{actor} changed a command of the bot {subject}", parts),
  bot_command_removed: (parts) => i18n.t("{actor} removed a command of the bot {subject}", parts),
  bot_webhook_secret_set: (parts) => i18n.t("{actor} set the secret of the incoming webhook {subject}", parts),
  bot_webhook_secret_removed: (parts) => i18n.t("{actor} removed the secret of the incoming webhook {subject}", parts),
  invitations_sent: (parts, { after }) =>
    i18n.t("{count, plural, one {{actor} invited # person by email} other {{actor} invited # people by email}}", { ...parts, count: countOf(after.invitation_ids) }),
  invitation_link_made: (parts) => i18n.t("{actor} created an invitation link", parts),
  invitation_revoked: (parts) => i18n.t("{actor} revoked an invitation", parts),
  invitation_resent: (parts) => i18n.t("{actor} sent an invitation again", parts),
};

const ofChannels: Record<string, Sentence> = {
  channel_created: (parts) => i18n.t("{actor} created the channel {subject}", parts),
  channel_changed: channelChanged,
  channel_message_pinned: (parts) => i18n.t("{actor} pinned a message in {subject}", parts),
  channel_message_unpinned: (parts) => i18n.t("{actor} unpinned a message in {subject}", parts),
  channel_topic_pinned: (parts, { after }) => i18n.t("{actor} pinned the topic {name} in {subject}", { ...parts, name: String(after.topic) }),
  channel_topic_unpinned: (parts, { after }) => i18n.t("{actor} unpinned the topic {name} in {subject}", { ...parts, name: String(after.topic) }),
  channel_topic_described: (parts, { after }) => i18n.t("{actor} described the topic {name} in {subject}", { ...parts, name: String(after.topic) }),
  channel_topic_undescribed: (parts, { after }) => i18n.t("{actor} removed the description of the topic {name} in {subject}", { ...parts, name: String(after.topic) }),
  subscribers_added: (parts, { after }) =>
    i18n.t("{count, plural, one {{actor} subscribed # person to {subject}} other {{actor} subscribed # people to {subject}}}", { ...parts, count: countOf(after.user_ids) }),
  subscribers_removed: (parts, { after }) =>
    i18n.t("{count, plural, one {{actor} unsubscribed # person from {subject}} other {{actor} unsubscribed # people from {subject}}}", { ...parts, count: countOf(after.user_ids) }),
  subscription_changed: (parts) => i18n.t("{actor} changed their settings for {subject}", parts),
  messages_expired: (parts, { after }) =>
    i18n.t("{count, plural, one {# old message was deleted from {subject}} other {# old messages were deleted from {subject}}}", { ...parts, count: Number(after.count ?? 0) }),
  topic_renamed: (parts, { before, after }) =>
    i18n.t("{actor} renamed the topic {old} to {name}", { ...parts, old: String(before.name), name: String(after.name) }),
  channel_folder_added: (parts) => i18n.t("{actor} added the channel folder {subject}", parts),
  channel_folder_changed: (parts) => i18n.t("{actor} changed the channel folder {subject}", parts),
  channel_folders_ordered: (parts) => i18n.t("{actor} changed the order of channel folders", parts),
  default_channel_group_changed: channelGroupChanged,
  group_created: (parts) => i18n.t("{actor} created the group {subject}", parts),
  group_changed: groupChanged,
  group_members_changed: (parts) => i18n.t("{actor} changed the members of {subject}", parts),
};

const ofOrganization: Record<string, Sentence> = {
  realm_changed: (parts) => i18n.t("{actor} changed the organization's settings", parts),
  realm_icon_changed: (parts) => i18n.t("{actor} changed the organization's icon", parts),
  realm_logo_changed: (parts) => i18n.t("{actor} changed the organization's logo", parts),
  realm_night_logo_changed: (parts) => i18n.t("{actor} changed the organization's logo for the dark theme", parts),
  realm_deactivated: (parts) => i18n.t("{actor} deactivated the organization", parts),
  realm_reactivated: (parts) => i18n.t("{actor} reactivated the organization", parts),
  scim_token_created: (parts) => i18n.t("{actor} created a token for a directory", parts),
  scim_token_revoked: (parts) => i18n.t("{actor} revoked a token of a directory", parts),
  scim_closures_allowed: (parts) => i18n.t("{actor} let directories deactivate any number of accounts for a day", parts),
  compliance_rule_changed: (parts) => i18n.t("{actor} changed how many officers a compliance case needs", parts),
  compliance_case_opened: (parts) => i18n.t("{actor} opened the compliance case {subject}", parts),
  compliance_case_approved: (parts) => i18n.t("{actor} approved the compliance case {subject}", parts),
  compliance_case_closed: (parts) => i18n.t("{actor} closed the compliance case {subject}", parts),
  compliance_searched: (parts) => i18n.t("{actor} searched all messages in the compliance case {subject}", parts),
  legal_hold_placed: (parts) => i18n.t("{actor} placed the legal hold {subject}", parts),
  legal_hold_released: (parts) => i18n.t("{actor} released the legal hold {subject}", parts),
  realm_exported: (parts) => i18n.t("{actor} began an export", parts),
  realm_export_deleted: (parts) => i18n.t("{actor} deleted an export", parts),
  realm_import_requested: (parts) => i18n.t("{actor} uploaded {subject} to import it", parts),
  realm_import_started: (parts) => i18n.t("{actor} began to import {subject}", parts),
  realm_import_abandoned: (parts) => i18n.t("{actor} abandoned an import that had not ended", parts),
  realm_import_deleted: (parts) => i18n.t("{actor} deleted the import of {subject} from the list", parts),
  settings_default_changed: (parts) => i18n.t("{actor} changed the defaults of new users", parts),
  domain_added: (parts, { after }) => i18n.t("{actor} added the domain {domain}", { ...parts, domain: String(after.domain) }),
  domain_changed: (parts, { after }) => i18n.t("{actor} changed the domain {domain}", { ...parts, domain: String(after.domain) }),
  domain_removed: (parts, { before }) => i18n.t("{actor} removed the domain {domain}", { ...parts, domain: String(before.domain) }),
  emoji_added: (parts) => i18n.t("{actor} added the emoji {subject}", parts),
  emoji_deactivated: (parts) => i18n.t("{actor} removed the emoji {subject}", parts),
  linkifier_added: (parts) => i18n.t("{actor} added the linkifier {subject}", parts),
  linkifier_changed: (parts) => i18n.t("{actor} changed the linkifier {subject}", parts),
  linkifier_removed: (parts) => i18n.t("{actor} removed the linkifier {subject}", parts),
  linkifiers_ordered: (parts) => i18n.t("{actor} changed the order of linkifiers", parts),
  playground_added: (parts) => i18n.t("{actor} added the playground {subject}", parts),
  playground_removed: (parts) => i18n.t("{actor} removed the playground {subject}", parts),
  profile_field_added: (parts) => i18n.t("{actor} added the profile field {subject}", parts),
  profile_field_changed: (parts) => i18n.t("{actor} changed the profile field {subject}", parts),
  profile_field_removed: (parts) => i18n.t("{actor} removed the profile field {subject}", parts),
  profile_fields_ordered: (parts) => i18n.t("{actor} changed the order of profile fields", parts),
};

const SENTENCES: Readonly<Record<string, Sentence>> = { ...ofPeople, ...ofChannels, ...ofOrganization };

/** Return the name of an action, or of a value, as words: `realm_icon_changed` is "Realm icon changed". */
export function wordsOf(name: string): string {
  return `${name[0]?.toUpperCase() ?? ""}${name.slice(1).replaceAll("_", " ")}`;
}

/** Return what an entry says. Actions of newer servers are named by their words. */
export function sentenceOf(entry: AuditEntry, parts: Parts): string {
  const known = Object.hasOwn(SENTENCES, entry.action) ? SENTENCES[entry.action] : undefined;
  if (known) return known(parts, entry);
  const action = wordsOf(entry.action);
  return entry.subject_id === null ? i18n.t("{actor}: {action}", { ...parts, action }) : i18n.t("{actor}: {action} ({subject})", { ...parts, action });
}
