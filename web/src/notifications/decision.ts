/** Whether a message that arrives is notified of: the same rules as the server has for phones. */

import { countOfAll, isTopicMuted, policyOf } from "../model/counts";
import { type Message, Policy, type State } from "../model/state";

export interface Decision {
  isShown: boolean;
  isHeard: boolean;
}

const NOTHING: Decision = { isShown: false, isHeard: false };
const CHANNEL_WILDCARDS = ["stream_wildcard_mentioned", "channel_wildcard_mentioned", "wildcard_mentioned"];

/** Return how the user is notified of a message that is not being looked at. */
export function decide(state: State, message: Message): Decision {
  if (message.sender_id === state.userId || message.flags.includes("read") || state.mutedUsers.has(message.sender_id)) return NOTHING;
  const { settings } = state;
  if (isPersonal(state, message)) {
    return { isShown: settings.enable_desktop_notifications === true, isHeard: settings.enable_sounds === true };
  }
  if (message.type !== "stream" || isTopicMuted(state, message.stream_id!, message.subject)) return NOTHING;
  const channel = state.channels.get(message.stream_id!);
  if (!channel?.is_subscribed) return NOTHING;
  const isFollowed = policyOf(state, message.stream_id!, message.subject) === Policy.FOLLOWED;
  return {
    isShown:
      (isFollowed && settings.enable_followed_topic_desktop_notifications === true) ||
      (channel.desktop_notifications ?? settings.enable_stream_desktop_notifications) === true,
    isHeard:
      (isFollowed && settings.enable_followed_topic_audible_notifications === true) ||
      (channel.audible_notifications ?? settings.enable_stream_audible_notifications) === true,
  };
}

/** Return whether a message is to the user personally. Direct messages and mentions by name override muting. */
function isPersonal(state: State, { type, flags, stream_id, subject }: Message): boolean {
  if (type === "private" || flags.includes("mentioned")) return true;
  const channelId = stream_id!;
  const hears = !isTopicMuted(state, channelId, subject);
  if (hears && flags.includes("has_alert_word")) return true;
  if (!flags.includes("topic_wildcard_mentioned") && !CHANNEL_WILDCARDS.some((flag) => flags.includes(flag))) return false;
  const isFollowed = policyOf(state, channelId, subject) === Policy.FOLLOWED;
  if (isFollowed && state.settings.enable_followed_topic_wildcard_mentions_notify === true) return true;
  const own = state.channels.get(channelId)?.wildcard_mentions_notify ?? state.settings.wildcard_mentions_notify;
  return hears && own === true;
}

/** What the count of title and icon has, the setting `desktop_icon_count_display`. */
const Counted = { ALL: 1, PERSONAL_AND_FOLLOWED: 2, PERSONAL: 3, NONE: 4 } as const;

/** Return the number of unread messages for title and icon, as the person has set it. */
export function iconCount(state: State): number {
  const counted = state.settings.desktop_icon_count_display ?? Counted.ALL;
  if (counted === Counted.NONE) return 0;
  if (counted === Counted.ALL) return countOfAll(state);
  const { unread } = state;
  const ids = new Set(unread.mentions);
  for (const direct of unread.directs.values()) for (const id of direct) ids.add(id);
  if (counted === Counted.PERSONAL) return ids.size;
  for (const { stream_id, topic_name, visibility_policy } of state.topicPolicies.values()) {
    if (visibility_policy !== Policy.FOLLOWED) continue;
    for (const id of unread.inTopic(stream_id, topic_name)) ids.add(id);
  }
  return ids.size;
}
