/** Where the organization's settings are read from and saved to. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { fieldNamed } from "../../model/state";
import { patch } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import type { SettingDefaults } from "../../protocol/types";
import type { Source } from "../settings/parts/settings";

/** Settings that only owners may change. */
const FOR_OWNERS = new Set([
  "authentication_methods",
  "disallow_disposable_email_addresses",
  "emails_restricted_to_domains",
  "invite_required",
  "message_retention_days",
  "waiting_period_threshold",
  "can_create_groups",
  "can_manage_all_groups",
  "create_multiuse_invite_group",
  "can_invite_users_group",
]);

const isPermission = (name: string) => name.endsWith("_group") || name === "can_create_groups" || name === "can_manage_all_groups";

/** Return why the user may not administer the organization; undefined if allowed. */
export function whyNotAdmin(): string | undefined {
  return state().fields.is_admin ? undefined : i18n.t("Only administrators may change this.");
}

export const realmSource: Source = {
  read: (name) => {
    const value = fieldNamed(state().fields, `realm_${name}`);
    if (name.endsWith("_limit_seconds") && value === null) return "unlimited";
    return name === "message_retention_days" && Number(value) < 0 ? "unlimited" : (value ?? null);
  },
  save: (name, value) => {
    if (name === "jitsi_server_url") return patch("/realm", { jitsi_server_url: (value as string) || "default" });
    const old = fieldNamed(state().fields, `realm_${name}`);
    return patch("/realm", { [name]: (isPermission(name) ? { new: value, old } : value) as Json });
  },
  reason: (name) => {
    const isOwners = FOR_OWNERS.has(name) && !state().fields.is_owner;
    return state().fields.is_admin && isOwners ? i18n.t("Only owners may change this.") : whyNotAdmin();
  },
};

/** The settings that new users begin with. */
export const defaultsSource: Source = {
  read: (name) => state().fields.realm_user_settings_defaults?.[name as keyof SettingDefaults] ?? null,
  save: (name, value) => patch("/realm/user_settings_defaults", { [name]: value as Json }),
  reason: whyNotAdmin,
};
