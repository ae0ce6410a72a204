/** Settings of a channel's messages: how long they are kept, and whether they need topics. */

import { i18n } from "../../i18n";
import type { Confirmation } from "../../ui/dialog";

/** Return what to ask before messages are kept for so many days; undefined where none are deleted. */
export function deletionOf(days: unknown): Confirmation | undefined {
  if (typeof days !== "number") return undefined;
  return {
    title: i18n.t("Delete older messages?"),
    text: i18n.t("{days, plural, one {Messages older than # day are deleted soon, with their files. This cannot be undone.} other {Messages older than # days are deleted soon, with their files. This cannot be undone.}}", { days }),
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
