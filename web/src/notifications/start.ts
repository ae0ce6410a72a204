/** Notifications, loaded after the page is shown. */

import { startPush } from "./push";
import { startNotifications } from "./system";

export function start(): void {
  startNotifications();
  // Without a push service, or while the server is away, it is tried again at the next start.
  startPush().catch((error: Error) => console.info("Push notifications:", error.message));
}
