import { state } from "../../app";
import { i18n } from "../../i18n";
import { mayInvite } from "../../model/permissions";
import { watch } from "../../ui/watch";
import { SectionsDialog } from "../settings/parts/sections-dialog";
import { BotList, UserList } from "./users";
import { DomainsPanel, EmojiPanel, FieldsPanel, LinkifiersPanel, PlaygroundsPanel } from "./lists";
import { DefaultChannelsPanel } from "./default-channels";
import { FoldersPanel } from "./folders";
import { DefaultsPanel, OrganizationProfile, PermissionsPanel, SettingsPanel } from "./settings";
import { ExportsPanel } from "./exports";
import { AuditLog } from "./audit-log";
import { InvitationsPanel } from "./invitations";

/** The dialog of `#organization/...`. What only administrators see is left out for others. */
export default function OrganizationDialog({ path }: { path: string[] }) {
  watch("realm", "groups", "users");
  const { is_admin: isAdmin } = state().fields;
  const invites = isAdmin || mayInvite(state());
  const panels = [
    { id: "profile", title: i18n.t("Profile"), render: () => <OrganizationProfile /> },
    { id: "settings", title: i18n.t("Settings"), render: () => <SettingsPanel /> },
    { id: "permissions", title: i18n.t("Permissions"), render: () => <PermissionsPanel /> },
    { id: "users", title: i18n.t("Users"), render: () => <UserList /> },
    { id: "groups", title: i18n.t("Groups"), render: () => <GroupsPanel /> },
    ...(invites ? [{ id: "invitations", title: i18n.t("Invitations"), render: () => <InvitationsPanel /> }] : []),
    { id: "bots", title: i18n.t("Bots"), render: () => <BotList /> },
    { id: "emoji", title: i18n.t("Emoji"), render: () => <EmojiPanel /> },
    { id: "linkifiers", title: i18n.t("Linkifiers"), render: () => <LinkifiersPanel /> },
    { id: "playgrounds", title: i18n.t("Code playgrounds"), render: () => <PlaygroundsPanel /> },
    { id: "fields", title: i18n.t("Profile fields"), render: () => <FieldsPanel /> },
    { id: "folders", title: i18n.t("Channel folders"), render: () => <FoldersPanel /> },
    { id: "default-channels", title: i18n.t("Default channels"), render: () => <DefaultChannelsPanel /> },
    ...(isAdmin
      ? [
          { id: "defaults", title: i18n.t("Defaults of new users"), render: () => <DefaultsPanel /> },
          { id: "domains", title: i18n.t("Domains"), render: () => <DomainsPanel /> },
          { id: "exports", title: i18n.t("Exports"), render: () => <ExportsPanel /> },
          { id: "audit-log", title: i18n.t("Audit log"), render: () => <AuditLog /> },
        ]
      : []),
  ];
  return <SectionsDialog title={i18n.t("Organization")} base="#organization/" current={path[0]} panels={panels} />;
}

function GroupsPanel() {
  return (
    <>
      <p>{i18n.t("Groups can be mentioned as one, and can be given permissions in the organization and in channels.")}</p>
      <a class="button" href="#groups">{i18n.t("Open groups")}</a>
    </>
  );
}
