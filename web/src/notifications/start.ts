/** Notifications, loaded after the page is shown. */

import { startPush } from "./push";
import { titleOfPlace } from "../views/feed/titles";
import { startNotifications } from "./system";

export function start(): void {
  startNotifications(titleOfPlace);
  // Without a push service, or while the server is away, it is tried again at the next start.
  startPush().catch((error: Error) => console.info("Push notifications:", error.message));
}
