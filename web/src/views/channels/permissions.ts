/** What the user may do with channels, and why not. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { administersChannel, channelPermits, readsWithoutSubscription, realmPermits, self } from "../../model/permissions";
import type { Channel } from "../../model/state";

/** Return why the user may not change a channel's settings; undefined if allowed. */
export function whyNotAdminister(channel: Channel): string | undefined {
  const me = self(state());
  if (channel.is_archived && !me?.is_admin) return i18n.t("This channel is archived.");
  if (administersChannel(state(), channel)) return undefined;
  return i18n.t("Only administrators of this channel may change this.");
}

/** Return why the user may not subscribe; undefined if allowed. */
export function whyNotJoin(channel: Channel): string | undefined {
  const me = self(state());
  if (channel.is_archived) return i18n.t("This channel is archived.");
  if (channelPermits(state(), channel, "can_subscribe_group")) return undefined;
  if (channel.is_web_public || (!channel.invite_only && !me?.is_guest)) return undefined;
  if (readsWithoutSubscription(state(), channel)) return undefined;
  return i18n.t("Someone who is in this channel must add you.");
}

export function whyNotRemove(channel: Channel): string | undefined {
  if (channel.is_archived) return i18n.t("This channel is archived.");
  const permitted = administersChannel(state(), channel) || channelPermits(state(), channel, "can_remove_subscribers_group");
  return permitted ? undefined : i18n.t("You may not remove people from this channel.");
}

export type Privacy = "public" | "web-public" | "shared" | "protected";

export function privacyOf(channel: Channel): Privacy {
  if (channel.is_web_public) return "web-public";
  if (!channel.invite_only) return "public";
  return channel.history_public_to_subscribers ? "shared" : "protected";
}

export const PRIVACIES: Record<Privacy, { isPrivate: boolean; is_web_public: boolean; history_public_to_subscribers: boolean }> = {
  public: { isPrivate: false, is_web_public: false, history_public_to_subscribers: true },
  "web-public": { isPrivate: false, is_web_public: true, history_public_to_subscribers: true },
  shared: { isPrivate: true, is_web_public: false, history_public_to_subscribers: true },
  protected: { isPrivate: true, is_web_public: false, history_public_to_subscribers: false },
};

export function privacyOptions(): readonly (readonly [Privacy, string])[] {
  const { server_web_public_streams_enabled, realm_enable_spectator_access } = state().fields;
  return [
    ["public", i18n.t("Public: all members may join and read")],
    ...(server_web_public_streams_enabled && realm_enable_spectator_access
      ? [["web-public", i18n.t("Web-public: readable without an account")] as const]
      : []),
    ["shared", i18n.t("Private, shared history: new subscribers see earlier messages")],
    ["protected", i18n.t("Private, protected history: new subscribers see messages from then on")],
  ];
}

/** Return why the user may not create a channel of a kind; undefined if allowed. */
export function whyNotCreate(privacy: Privacy): string | undefined {
  const name = {
    public: "can_create_public_channel_group",
    "web-public": "can_create_web_public_channel_group",
    shared: "can_create_private_channel_group",
    protected: "can_create_private_channel_group",
  }[privacy];
  return realmPermits(state(), name) ? undefined : i18n.t("You may not create channels of this kind.");
}
