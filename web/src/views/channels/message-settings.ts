/** Settings of a channel's messages: how long they are kept, and whether they need topics. */

import { i18n } from "../../i18n";
import { get } from "../../protocol/client";
import type { Answer } from "../../protocol/types";
import type { Confirmation } from "../../ui/dialog";
import { shortDate } from "../../ui/time";

/** What the deletion of older messages means; without a preview where the server gives none. */
async function consequence(days: number, channelId: number | undefined): Promise<string> {
  const general = i18n.t("{days, plural, one {Messages older than # day are deleted soon, with their files. This cannot be undone.} other {Messages older than # days are deleted soon, with their files. This cannot be undone.}}", { days });
  const found = await get<Answer<"GET /realm/retention_preview">>("/realm/retention_preview", { days, stream_id: channelId }).catch(() => undefined);
  if (!found) return general;
  const date = shortDate(found.before);
  if (!found.messages) return i18n.t("No message is older than {date}. From now on, each is deleted at that age, with its files.", { date });
  const amounts = [
    found.is_complete
      ? i18n.t("{count, plural, one {# message from before {date} is deleted soon.} other {# messages from before {date} are deleted soon.}}", { count: found.messages, date })
      : i18n.t("{count, plural, one {More than # message from before {date} is deleted soon.} other {More than # messages from before {date} are deleted soon.}}", { count: found.messages, date }),
    found.channels.length && channelId === undefined ? i18n.t("{count, plural, one {They are in # channel.} other {They are in # channels.}}", { count: found.channels.length }) : "",
    found.direct_messages ? i18n.t("{count, plural, one {# is a direct message.} other {# are direct messages.}}", { count: found.direct_messages }) : "",
    found.files ? i18n.t("{count, plural, one {# file goes with them.} other {# files go with them.}}", { count: found.files }) : "",
  ];
  return [...amounts.filter(Boolean), i18n.t("This cannot be undone.")].join(" ");
}

/** Return what to ask before messages are kept for so many days; undefined where none are deleted. */
export async function deletionOf(days: unknown, channelId?: number): Promise<Confirmation | undefined> {
  if (typeof days !== "number") return undefined;
  return {
    title: i18n.t("Delete older messages?"),
    text: await consequence(days, channelId),
    action: i18n.t("Delete"),
    isDangerous: true,
  };
}

/** Return how long messages may be kept; `now` is offered as well. */
export function retentionOptions(now?: number | null): readonly (readonly [string | number, string])[] {
  const listed = new Set([7, 30, 90, 365, 1095]);
  if (now && now > 0) listed.add(now);
  const days = (count: number) => i18n.t("{count, plural, one {# day} other {# days}}", { count });
  return [
    ["realm_default", i18n.t("As the organization has it")],
    ["unlimited", i18n.t("Forever")],
    ...[...listed].sort((one, other) => one - other).map((each) => [each, days(each)] as const),
  ];
}

export function topicsPolicies(): readonly (readonly [string, string])[] {
  return [
    ["inherit", i18n.t("As the organization has it")],
    ["allow_empty_topic", i18n.t("Messages may go without a topic")],
    ["disable_empty_topic", i18n.t("Every message needs a topic")],
    ["empty_topic_only", i18n.t("No topics: one conversation")],
  ];
}
