/** Menus of the conversations on the left: what the user may do with each. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { countOfChannel, countOfDirect, countOfTopic, policyOf } from "../../model/counts";
import { canDeleteTopics, canMoveTopics, canMoveTopicsOut, canPin, canResolve } from "../../model/message-permissions";
import { isResolved } from "../../model/names";
import { channelNarrow, directNarrow, type Narrow, topicNarrow } from "../../model/narrow";
import { isTopicPinned } from "../../model/pins";
import { type Channel, directKey, topicKey } from "../../model/state";
import { del, post, put } from "../../protocol/client";
import { addressOf, go } from "../../router";
import { copyText } from "../../ui/copy";
import type { IconName } from "../../ui/icons";
import { load } from "../../ui/lazy";
import type { MenuGroups, MenuItem } from "../../ui/menu";
import { attempt, toast } from "../../ui/toast";
import { leave, saveOwn } from "../channels/requests";
import { channelRefusal } from "../compose/rules";
import { startTopic } from "../compose/target";
import { markAllRead } from "../feed/reading";
import { deleteTopic, openMoveTopic, policyItems, toggleResolved } from "../feed/topic-actions";

/** A conversation, or a channel with all of its own. */
export type Row = { kind: "channel"; id: number } | { kind: "topic"; id: number; topic: string } | { kind: "direct"; ids: number[] };

function item(name: string, icon: IconName, onSelect: () => void, more: Partial<MenuItem> = {}): MenuItem {
  return { name, icon, onSelect, ...more };
}

function when(condition: boolean, found: () => MenuItem): MenuItem[] {
  return condition ? [found()] : [];
}

function markRead(narrow: Narrow, unread: number): MenuItem[] {
  return when(unread > 0, () => item(i18n.t("Mark as read"), "eye", () => void attempt(() => markAllRead(narrow))));
}

function copyLink(narrow: Narrow): MenuItem {
  return item(i18n.t("Copy link"), "link", async () => {
    const isCopied = await copyText(new URL(`/${addressOf(narrow)}`, location.href).href);
    toast(isCopied ? i18n.t("Link copied.") : i18n.t("The browser does not allow copying."), { isProblem: !isCopied });
  });
}

/** Return the items of a row's menu. */
export function itemsOf(row: Row): MenuGroups {
  if (row.kind === "direct") return ofDirect(row.ids);
  const channel = state().channels.get(row.id);
  if (!channel) return [];
  return row.kind === "topic" ? ofTopic(channel, row.topic) : ofChannel(channel);
}

function ofTopic(channel: Channel, topic: string): MenuGroups {
  const now = state();
  const { stream_id: id } = channel;
  const narrow = topicNarrow(id, topic);
  if (!now.userId) return [[copyLink(narrow)]];
  const resolve = isResolved(topic) ? i18n.t("Mark the topic as unresolved") : i18n.t("Mark the topic as resolved");
  return [
    markRead(narrow, countOfTopic(now, id, topic).unread),
    policyItems(channel, topic, policyOf(now, id, topic)),
    [
      ...when(topic !== "" && canResolve(now, channel), () => item(resolve, "check", () => void toggleResolved(channel, topic))),
      ...when(channel.is_subscribed && canPin(now, channel), () => item(isTopicPinned(now, id, topic) ? i18n.t("Unpin topic") : i18n.t("Pin topic"), "pin", () => void toggleTopicPin(channel, topic))),
      ...when(canMoveTopics(now, channel), () => item(i18n.t("Rename topic"), "edit", () => openMoveTopic(channel, topic, "name"))),
      ...when(channel.is_subscribed && canMoveTopics(now, channel), () => item(now.topicDescriptions.has(topicKey(id, topic)) ? i18n.t("Edit description") : i18n.t("Describe topic"), "topic", () => describeTopic(channel, topic))),
      ...when(canMoveTopicsOut(now, channel), () => item(i18n.t("Move topic"), "move", () => openMoveTopic(channel, topic, "place"))),
      copyLink(narrow),
    ],
    when(canDeleteTopics(now, channel), () =>
      item(i18n.t("Delete topic"), "trash", () => void deleteTopic(channel, topic), { isDangerous: true }),
    ),
  ];
}

function describeTopic(channel: Channel, topic: string): void {
  void attempt(async () => (await load(() => import("../feed/dialogs/describe-topic"))).openDescribeTopic(channel, topic));
}

/** Pin a topic in its channel, or unpin it. */
async function toggleTopicPin(channel: Channel, topic: string): Promise<void> {
  const send = isTopicPinned(state(), channel.stream_id, topic) ? del : put;
  await attempt(() => send(`/streams/${channel.stream_id}/pinned_topics`, { topic }));
}

function ofChannel(channel: Channel): MenuGroups {
  const now = state();
  const { stream_id: id, is_muted: isMuted, pin_to_top: isPinned } = channel;
  const narrow = channelNarrow(id);
  if (!now.userId) return [[copyLink(narrow)]];
  const change = (property: string, value: boolean) => void attempt(() => saveOwn(channel, property, value));
  return [
    [
      ...markRead(narrow, countOfChannel(now, id).unread),
      ...when(channelRefusal(now, channel) === undefined, () => item(i18n.t("New topic"), "edit", () => startTopic(id))),
    ],
    [
      item(isMuted ? i18n.t("Unmute channel") : i18n.t("Mute channel"), "mute", () => change("is_muted", !isMuted)),
      item(isPinned ? i18n.t("Unpin channel") : i18n.t("Pin channel"), "star", () => change("pin_to_top", !isPinned)),
      copyLink(narrow),
      item(i18n.t("Channel settings"), "settings", () => go(`#channels/${id}/general`)),
    ],
    [item(i18n.t("Unsubscribe"), "close", () => void attempt(() => leave(channel)), { isDangerous: true })],
  ];
}

function ofDirect(ids: readonly number[]): MenuGroups {
  const now = state();
  const narrow = directNarrow([...ids]);
  const [other] = ids;
  const isOne = ids.length === 1 && other !== now.userId;
  const isMuted = other !== undefined && now.mutedUsers.has(other);
  const path = `/users/me/muted_users/${other}`;
  return [
    [...markRead(narrow, countOfDirect(now, directKey(ids, now.userId)).unread), copyLink(narrow)],
    isOne
      ? [
          item(i18n.t("Profile"), "person", () => go(`#user/${other}`)),
          item(isMuted ? i18n.t("Unmute user") : i18n.t("Mute user"), "mute", () => void attempt(() => (isMuted ? del(path) : post(path)))),
        ]
      : [],
  ];
}
