import type { Dialog } from "../router";
import { lazy } from "../ui/lazy";

const ChannelsDialog = lazy(() => import("./channels/channels-dialog"));

/** The dialog of an address such as `#settings/profile`. */
export function DialogOf({ dialog, path }: { dialog: Dialog; path: string[] }) {
  switch (dialog) {
    case "channels":
      return <ChannelsDialog path={path} />;
    default:
      return null;
  }
}
