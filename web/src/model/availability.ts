/** Whether people are active, idle or offline. */

import type { State } from "./state";

export type Availability = "active" | "idle" | "offline";

/** Seconds since the last ping within which a person counts as active. */
const ACTIVE_SECONDS = 140;

export function availabilityOf(state: State, userId: number, nowSeconds: number): Availability {
  const presence = state.presences.get(userId);
  const user = state.users.get(userId);
  if (user?.is_bot) return "active";
  if (!presence) return "offline";
  const offlineAfter = Number(state.fields.server_presence_offline_threshold_seconds ?? ACTIVE_SECONDS);
  if (nowSeconds - (presence.active_timestamp ?? 0) < offlineAfter) return "active";
  if (nowSeconds - (presence.idle_timestamp ?? 0) < offlineAfter) return "idle";
  return "offline";
}
