/** Requests about channels. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import type { Channel, ChannelPermission } from "../../model/state";
import { del, patch, post } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import { confirm } from "../../ui/dialog";
import { PRIVACIES, type Privacy } from "./permissions";

export function join(channel: Channel): Promise<unknown> {
  return post("/users/me/subscriptions", { subscriptions: [{ name: channel.name }] });
}

/** Leave a channel. Asks first where the user could not come back alone. */
export async function leave(channel: Channel): Promise<unknown> {
  if (channel.invite_only) {
    const isSure = await confirm({
      title: i18n.t("Leave {name}?", { name: channel.name }),
      text: i18n.t("This channel is private: you may need to be added to it to come back."),
      action: i18n.t("Leave"),
      isDangerous: true,
    });
    if (!isSure) return undefined;
  }
  return del("/users/me/subscriptions", { subscriptions: [channel.name] });
}

/** Subscribe people to a channel. Resolves to the ids of those who were not in it before. */
export async function addMembers(channel: Channel, principals: number[]): Promise<number[]> {
  const { subscribed } = await post<{ subscribed: Record<string, string[]> }>("/users/me/subscriptions", { subscriptions: [{ name: channel.name }], principals });
  return Object.keys(subscribed).map(Number);
}

export function removeMember(channel: Channel, userId: number): Promise<unknown> {
  return del("/users/me/subscriptions", { subscriptions: [channel.name], principals: [userId] });
}

/** Change a channel's setting: its names are those of the state, and `privacy`. */
export function saveChannel(channel: Channel, name: string, value: unknown): Promise<unknown> {
  const path = `/streams/${channel.stream_id}`;
  if (name.startsWith("can_")) {
    const old = channel[name as ChannelPermission];
    return patch(path, { [name]: { new: value, old } as unknown as Json });
  }
  switch (name) {
    case "name":
      return patch(path, { new_name: value as string });
    case "privacy": {
      const { isPrivate, ...rest } = PRIVACIES[value as Privacy];
      return patch(path, { is_private: isPrivate, ...rest });
    }
    default:
      return patch(path, { [name]: value as Json });
  }
}

export function saveOwn(channel: Channel, property: string, value: unknown): Promise<unknown> {
  return post("/users/me/subscriptions/properties", {
    subscription_data: [{ stream_id: channel.stream_id, property, value }] as unknown as Json,
  });
}

export function isDefault(channel: Channel): boolean {
  return (state().fields.realm_default_streams ?? []).some((each: number | { stream_id: number }) =>
    typeof each === "number" ? each === channel.stream_id : each.stream_id === channel.stream_id,
  );
}
