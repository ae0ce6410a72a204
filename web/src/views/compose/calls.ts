/** Links to calls, by the organization's provider. */

import { onBatch, state } from "../../app";
import { i18n } from "../../i18n";
import { get, post } from "../../protocol/client";
import { composeBox } from "./compose-box";
import { newKey } from "./composition";
import { insertion } from "./formatting";
import { problem } from "./sending";
import { namesOf } from "./directory";
import { target } from "./target";

const PROVIDERS = ["jitsi_meet", "big_blue_button", "constructor_groups", "nextcloud_talk", "webex", "zoom"] as const;
export type CallProvider = (typeof PROVIDERS)[number];

/** Return the provider of calls; undefined where there is none, or one of which nothing is known. */
export function callProvider(): CallProvider | undefined {
  const { realm_video_chat_provider: chosen, realm_available_video_chat_providers: available, jitsi_server_url } = state().fields;
  const found = Object.entries((available ?? {}) as Record<string, { id: number }>).find(([, each]) => each.id === chosen)?.[0];
  if (found === "jitsi_meet") return jitsi_server_url ? found : undefined;
  return PROVIDERS.find((each) => each === found);
}

async function addressOfCall(provider: CallProvider, hasVideo: boolean): Promise<string> {
  if (provider === "jitsi_meet") {
    const server = String(state().fields.jitsi_server_url).replace(/\/+$/, "");
    // Jitsi takes the settings of a call from the address.
    return `${server}/${newKey()}${hasVideo ? "#config.startWithVideoMuted=false" : "#config.startWithVideoMuted=true"}`;
  }
  if (provider === "big_blue_button") {
    const { url } = await get<{ url: string }>("/calls/bigbluebutton/create", {
      meeting_name: meetingName().slice(0, 100),
      voice_only: !hasVideo,
    });
    return url;
  }
  if (provider === "constructor_groups") return (await post<{ url: string }>("/calls/constructorgroups/create", {})).url;
  if (provider === "nextcloud_talk") {
    const { url } = await post<{ url: string }>("/calls/nextcloud_talk/create", { room_name: meetingName().slice(0, 100) });
    return url;
  }
  await connectAccount(provider);
  const fields = provider === "zoom" ? { is_video_call: hasVideo } : {};
  return (await post<{ url: string }>(`/calls/${provider}/create`, fields)).url;
}

const MAX_WAIT_MS = 10 * 60_000;
let stopWaiting: (() => void) | undefined;

/** Let the user connect an account at the service in a new window, and wait for it. A later wait ends this one. */
async function connectAccount(service: "webex" | "zoom"): Promise<void> {
  const isConnected = () => state().fields[`has_${service}_token`] === true;
  stopWaiting?.();
  if (isConnected()) return;
  const opened = window.open(`/calls/${service}/register`, "_blank", "width=900,height=700");
  if (!opened) throw new Error(i18n.t("Your browser has blocked a window. Allow windows of this site, and try again."));
  await new Promise<void>((resolve, reject) => {
    const end = () => {
      stopListening();
      clearTimeout(timer);
      stopWaiting = undefined;
    };
    const fail = () => {
      end();
      reject(new Error(i18n.t("Your account for calls was not connected. Try again.")));
    };
    const stopListening = onBatch(() => {
      if (!isConnected()) return;
      end();
      resolve();
    });
    const timer = setTimeout(fail, MAX_WAIT_MS);
    stopWaiting = fail;
  });
}

function meetingName(): string {
  const to = target.peek();
  if (to?.kind === "direct") return namesOf(to.userIds);
  const channel = to?.channelId === undefined ? undefined : state().channels.get(to.channelId)?.name;
  return [channel, to?.topic].filter(Boolean).join(" > ") || i18n.t("Call");
}

/** Insert a link to a new call. */
export async function startCall(provider: CallProvider, hasVideo: boolean): Promise<void> {
  try {
    const url = await addressOfCall(provider, hasVideo);
    const label = hasVideo ? i18n.t("Join video call.") : i18n.t("Join voice call.");
    const { text, start, end } = composeBox.selection();
    const before = start > 0 && !/\s$/.test(text.slice(0, start)) ? " " : "";
    composeBox.apply(insertion(text, start, end, `${before}[${label}](${url}) `));
  } catch (error) {
    problem.value = (error as Error).message;
  }
}
