import { state } from "../../app";
import { i18n } from "../../i18n";
import { mayInvite, self } from "../../model/permissions";
import { watch } from "../../ui/watch";
import { type Panel, SectionsDialog } from "../settings/parts/sections-dialog";
import { BotList, UserList } from "./users";
import { DomainsPanel, EmojiPanel, FieldsPanel, LinkifiersPanel, PlaygroundsPanel } from "./lists";
import { DefaultChannelsPanel } from "./default-channels";
import { FoldersPanel } from "./folders";
import { DefaultsPanel, OrganizationProfile, PermissionsPanel, SettingsPanel } from "./settings";
import { ExportsPanel } from "./exports";
import { ImportsPanel } from "./imports";
import { AuditLog } from "./audit-log";
import { CompliancePanel } from "./compliance/panel";
import { DirectoryTokensPanel } from "./directory-tokens";
import { InvitationsPanel } from "./invitations";

/**
 * Return the panels that the user has a use for.
 *
 * Members see how the organization is set up, guests who is in it and which emoji there are; the
 * rest is for administrators.
 */
export function panelsOffered(): Panel[] {
  const { is_admin: isAdmin = false } = state().fields;
  const isMember = !self(state())?.is_guest;
  const all: (Panel & { isFor?: boolean })[] = [
    { id: "profile", title: i18n.t("Organization profile"), render: () => <OrganizationProfile /> },
    { id: "settings", title: i18n.t("Settings"), isFor: isMember, render: () => <SettingsPanel /> },
    { id: "permissions", title: i18n.t("Permissions"), isFor: isMember, render: () => <PermissionsPanel /> },
    { id: "users", title: i18n.t("Users"), render: () => <UserList /> },
    { id: "groups", title: i18n.t("Groups"), render: () => <GroupsPanel /> },
    { id: "invitations", title: i18n.t("Invitations"), isFor: isAdmin || mayInvite(state()), render: () => <InvitationsPanel /> },
    { id: "bots", title: i18n.t("Bots"), render: () => <BotList /> },
    { id: "emoji", title: i18n.t("Emoji"), render: () => <EmojiPanel /> },
    { id: "linkifiers", title: i18n.t("Linkifiers"), isFor: isMember, render: () => <LinkifiersPanel /> },
    { id: "playgrounds", title: i18n.t("Code playgrounds"), isFor: isMember, render: () => <PlaygroundsPanel /> },
    { id: "fields", title: i18n.t("Profile fields"), isFor: isMember, render: () => <FieldsPanel /> },
    { id: "folders", title: i18n.t("Channel folders"), isFor: isMember, render: () => <FoldersPanel /> },
    { id: "default-channels", title: i18n.t("Default channels"), isFor: isMember, render: () => <DefaultChannelsPanel /> },
    { id: "defaults", title: i18n.t("Defaults of new users"), isFor: isAdmin, render: () => <DefaultsPanel /> },
    { id: "domains", title: i18n.t("Domains"), isFor: isAdmin, render: () => <DomainsPanel /> },
    { id: "exports", title: i18n.t("Exports"), isFor: isAdmin, render: () => <ExportsPanel /> },
    { id: "imports", title: i18n.t("Imports"), isFor: Boolean(state().fields.is_owner), render: () => <ImportsPanel /> },
    { id: "directories", title: i18n.t("Directories"), isFor: Boolean(state().fields.is_owner), render: () => <DirectoryTokensPanel /> },
    { id: "compliance", title: i18n.t("Compliance"), isFor: isMember, render: () => <CompliancePanel /> },
    { id: "audit-log", title: i18n.t("Audit log"), isFor: isAdmin, render: () => <AuditLog /> },
  ];
  return all.filter(({ isFor = true }) => isFor);
}

/** The dialog of `#organization/...`. */
export default function OrganizationDialog({ path }: { path: string[] }) {
  watch("realm", "groups", "users");
  return <SectionsDialog title={i18n.t("Organization")} base="#organization/" current={path[0]} panels={panelsOffered()} />;
}

function GroupsPanel() {
  return (
    <>
      <p>{i18n.t("Groups can be mentioned as one, and can be given permissions in the organization and in channels.")}</p>
      <a class="button" href="#groups">{i18n.t("Open groups")}</a>
    </>
  );
}
