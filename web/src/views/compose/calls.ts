/** Links to calls, by the organization's provider. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { get, post } from "../../protocol/client";
import { composeBox } from "./compose-box";
import { newKey } from "./composition";
import { insertion } from "./formatting";
import { problem } from "./sending";
import { namesOf } from "./directory";
import { target } from "./target";

export type CallProvider = "jitsi_meet" | "big_blue_button" | "zoom" | "zoom_server_to_server";

/** Return the provider of calls; undefined where there is none, or one of which nothing is known. */
export function callProvider(): CallProvider | undefined {
  const { realm_video_chat_provider: chosen, realm_available_video_chat_providers: available, jitsi_server_url } = state().fields;
  const found = Object.entries((available ?? {}) as Record<string, { id: number }>).find(([, each]) => each.id === chosen)?.[0];
  if (found === "jitsi_meet") return jitsi_server_url ? found : undefined;
  return found === "big_blue_button" || found === "zoom" || found === "zoom_server_to_server" ? found : undefined;
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
  const { url } = await post<{ url: string }>("/calls/zoom/create", { is_video_call: hasVideo });
  return url;
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
