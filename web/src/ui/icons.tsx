/**
 * Icons. `data-icon` on an element draws one before its content, in the colour of its text and of
 * the size `--icon-size`. They are decoration: what they mean stands in words.
 */

import { i18n } from "../i18n";
import type { Channel } from "../model/state";
import type { SHAPES } from "./icon-shapes";

export type IconName = keyof typeof SHAPES;

declare module "preact" {
  interface PreactDOMAttributes {
    "data-icon"?: IconName | undefined;
  }
}

export function Icon({ name }: { name: IconName }) {
  return <span class="icon" data-icon={name} aria-hidden="true" />;
}

/** The icon of a channel: who can read it. */
export function ChannelIcon({ channel }: { channel: Pick<Channel, "is_archived" | "invite_only" | "is_web_public"> | undefined }) {
  if (channel?.is_archived) return <span class="icon" data-icon="archive" title={i18n.t("Archived channel")} />;
  if (channel?.invite_only) return <span class="icon" data-icon="lock" title={i18n.t("Private channel")} />;
  if (channel?.is_web_public) return <span class="icon" data-icon="globe" title={i18n.t("Public on the web")} />;
  return <Icon name="hash" />;
}
