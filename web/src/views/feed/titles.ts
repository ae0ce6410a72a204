/** What narrows and views are called. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { listed, topicName, userName } from "../../model/names";
import { conversationOf, type Narrow, operandFor } from "../../model/narrow";
import { ground, type View } from "../../router";
import type { IconName } from "../../ui/icons";

const VIEW_NAMES: Record<View, () => string> = {
  inbox: () => i18n.t("Inbox"),
  recent: () => i18n.t("Recent conversations"),
  feed: () => i18n.t("Combined feed"),
  drafts: () => i18n.t("Drafts"),
  scheduled: () => i18n.t("Scheduled"),
  reminders: () => i18n.t("Reminders"),
};

/** Return the name of what the page shows, for the title of the window. */
export function titleOfPlace(): string {
  const here = ground.value;
  return here.kind === "view" ? VIEW_NAMES[here.view]() : plainTitleOf(here.narrow);
}

/** Return the name of a narrow in one line: of its conversation, or of the search. */
function plainTitleOf(narrow: Narrow): string {
  const channelId = operandFor(narrow, "channel");
  const channel = typeof channelId === "number" ? state().channels.get(channelId) : undefined;
  const topic = conversationOf(narrow)?.kind === "topic" ? topicName(state(), String(operandFor(narrow, "topic"))) : undefined;
  if (channel) return topic === undefined ? `#${channel.name}` : `#${channel.name} › ${topic}`;
  const people = operandFor(narrow, "dm");
  if (!Array.isArray(people)) return titleOf(narrow).text;
  const others = people.filter((id) => id !== state().userId);
  return others.length ? listed(others.map((id) => userName(state(), id))) : i18n.t("Notes to yourself");
}

export function titleOf(narrow: Narrow): { icon: IconName; text: string } {
  if (!narrow.terms.length) return { icon: "topic", text: i18n.t("Combined feed") };
  if (narrow.terms.length === 1) {
    switch (operandFor(narrow, "is")) {
      case "starred":
        return { icon: "star", text: i18n.t("Starred messages") };
      case "mentioned":
        return { icon: "at", text: i18n.t("Mentions") };
      case "dm":
        return { icon: "people", text: i18n.t("Direct messages") };
      case "unread":
        return { icon: "unread", text: i18n.t("Unread messages") };
      case "followed":
        return { icon: "bell", text: i18n.t("Followed topics") };
    }
  }
  return { icon: "search", text: i18n.t("Search results") };
}
