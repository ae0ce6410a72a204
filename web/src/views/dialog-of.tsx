import type { Dialog } from "../router";
import { lazy } from "../ui/lazy";

const ChannelsDialog = lazy(() => import("./channels/channels-dialog"));
const SettingsDialog = lazy(() => import("./settings/settings-dialog"));
const OrganizationDialog = lazy(() => import("./organization/organization-dialog"));
const GroupsDialog = lazy(() => import("./groups/groups-dialog"));
const ProfileDialog = lazy(() => import("./people/profile-dialog"));

/** The dialog of an address such as `#settings/profile`. */
export function DialogOf({ dialog, path }: { dialog: Dialog; path: string[] }) {
  switch (dialog) {
    case "channels":
      return <ChannelsDialog path={path} />;
    case "settings":
      return <SettingsDialog path={path} />;
    case "organization":
      return <OrganizationDialog path={path} />;
    case "groups":
      return <GroupsDialog path={path} />;
    case "user":
      return <ProfileDialog path={path} />;
    default:
      return null;
  }
}
