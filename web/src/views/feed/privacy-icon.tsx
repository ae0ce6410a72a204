import { i18n } from "../../i18n";
import type { Channel } from "../../model/state";

/** Who can read a channel, as an icon. */
export function PrivacyIcon({ channel }: { channel: Channel | undefined }) {
  if (channel?.is_archived) return <span class="privacy" data-icon="archive" title={i18n.t("Archived channel")} />;
  if (channel?.invite_only) return <span class="privacy" data-icon="lock" title={i18n.t("Private channel")} />;
  if (channel?.is_web_public) return <span class="privacy" data-icon="globe" title={i18n.t("Public on the web")} />;
  return <span class="privacy" data-icon="channel" />;
}
