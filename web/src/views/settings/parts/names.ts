/** Names of groups and people as they are shown. */

import { state } from "../../../app";
import { i18n } from "../../../i18n";
import type { Group, GroupValue } from "../../../model/state";

/** Return the name of a group; groups of roles have names of their own. */
export function groupName(group: Pick<Group, "name"> | undefined): string {
  switch (group?.name) {
    case undefined:
      return i18n.t("Unknown group");
    case "role:internet":
      return i18n.t("Visitors without an account, too");
    case "role:everyone":
      return i18n.t("Everyone, including guests");
    case "role:members":
      return i18n.t("Members");
    case "role:fullmembers":
      return i18n.t("Full members");
    case "role:moderators":
      return i18n.t("Moderators");
    case "role:administrators":
      return i18n.t("Administrators");
    case "role:owners":
      return i18n.t("Owners");
    case "role:nobody":
      return i18n.t("No one");
    default:
      return group!.name;
  }
}

export function roleName(role: number): string {
  if (role <= 100) return i18n.t("Owner");
  if (role <= 200) return i18n.t("Administrator");
  if (role <= 300) return i18n.t("Moderator");
  return role >= 600 ? i18n.t("Guest") : i18n.t("Member");
}

/** Roles that may be given, from the highest. */
export const ROLES = [100, 200, 300, 400, 600] as const;

export function userName(id: number | null | undefined): string {
  return (id && state().users.get(id)?.full_name) || i18n.t("Unknown user");
}

/** Return the groups and people of a permission's value. */
export function partsOf(value: GroupValue | undefined): { direct_members: number[]; direct_subgroups: number[] } {
  if (value === undefined || value === null) return { direct_members: [], direct_subgroups: [] };
  return typeof value === "number" ? { direct_members: [], direct_subgroups: [value] } : value;
}
