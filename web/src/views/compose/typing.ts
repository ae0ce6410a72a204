/** Send typing notifications, as the settings allow: at the start, now and then, and at the end. */

import { state } from "../../app";
import { post } from "../../protocol/client";
import { content } from "./composition";
import { targetRefusal } from "./rules";
import { type Target, target, targetKey } from "./target";

let reported: { key: string; to: Target; at: number } | undefined;
let stopping: ReturnType<typeof setTimeout> | undefined;

function isAllowed(to: Target): boolean {
  const { settings } = state();
  if (to.kind === "topic") return Boolean(settings.send_stream_typing_notifications) && to.channelId !== undefined;
  return Boolean(settings.send_private_typing_notifications) && to.userIds.length > 0 && to.userIds.length < 20;
}

function report(op: "start" | "stop", to: Target): void {
  const params =
    to.kind === "topic"
      ? { type: "channel", stream_id: to.channelId!, topic: to.topic }
      : { type: "direct", to: to.userIds };
  // It is a courtesy: nothing is lost if it does not arrive.
  void post("/typing", { op, ...params }, { keepalive: op === "stop" }).catch(() => undefined);
}

/** Call it with each key: something was written. */
export function noteTyping(): void {
  const to = target.peek();
  const { fields } = state();
  if (!to || !content.peek().trim()) return stopTyping();
  const key = targetKey(to);
  if (reported && reported.key !== key) stopTyping();
  if (!isAllowed(to) || (!reported && targetRefusal(state(), to))) return;
  const every = Number(fields.server_typing_started_wait_period_milliseconds ?? 30_000);
  if (!reported || Date.now() - reported.at > every) {
    reported = { key, to, at: Date.now() };
    report("start", to);
  }
  clearTimeout(stopping);
  stopping = setTimeout(stopTyping, Number(fields.server_typing_stopped_wait_period_milliseconds ?? 12_000));
}

/** Report that the user has stopped: sent, gone elsewhere, or idle. */
export function stopTyping(): void {
  clearTimeout(stopping);
  if (!reported) return;
  report("stop", reported.to);
  reported = undefined;
}
