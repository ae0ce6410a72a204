import { state } from "../../app";
import { i18n } from "../../i18n";
import { listed, userName } from "../../model/names";
import { conversationOf, type Narrow, operandFor } from "../../model/narrow";
import { addressOf } from "../../router";
import { SearchEverywhere } from "../search/search-everywhere";

/** What is shown where there are no messages: why, and what to do. */
export default function FeedNotice({ narrow }: { narrow: Narrow }) {
  const { title, text } = emptyText(narrow);
  return (
    <div class="feed-notice">
      <h2>{title}</h2>
      <p>{text}</p>
      <SearchEverywhere narrow={narrow} />
      {isOfOwnMessages(narrow) ? (
        <p>
          <a href={addressOf({ terms: [{ operator: "channels", operand: "public" }, ...narrow.terms] })}>{i18n.t("Search all public channels, also those you are not subscribed to")}</a>
        </p>
      ) : null}
    </div>
  );
}

const OF_A_PLACE = new Set(["channel", "channels", "dm", "dm-including", "is", "with", "id"]);

/** Whether a narrow looks only among the messages that the user has received. */
function isOfOwnMessages({ terms }: Narrow): boolean {
  return state().userId !== 0 && terms.length > 0 && !terms.some((each) => OF_A_PLACE.has(each.operator));
}

function emptyText(narrow: Narrow): { title: string; text: string } {
  const here = conversationOf(narrow);
  if (here?.kind === "direct") {
    const others = here.userIds.filter((id) => id !== state().userId);
    if (!others.length) return { title: i18n.t("Notes to yourself"), text: i18n.t("Nobody else sees what you write here.") };
    const names = listed(others.map((id) => userName(state(), id)));
    return { title: i18n.t("No messages with {names} yet", { names }), text: i18n.t("Write the first one below.") };
  }
  if (here) return { title: i18n.t("No messages in this topic yet"), text: i18n.t("Write the first one below.") };
  if (narrow.terms.length === 1) {
    const found = ofOneTerm(narrow);
    if (found) return found;
  }
  if (!narrow.terms.length) {
    return { title: i18n.t("No messages yet"), text: i18n.t("What is written in your channels, and to you, appears here. Begin a topic, or write to a colleague.") };
  }
  return { title: i18n.t("Nothing found"), text: i18n.t("Try fewer words, other spellings, or leave out a filter.") };
}

function ofOneTerm(narrow: Narrow): { title: string; text: string } | undefined {
  const channelId = operandFor(narrow, "channel");
  if (channelId !== undefined) {
    const isArchived = state().channels.get(channelId as number)?.is_archived;
    if (isArchived) return { title: i18n.t("No messages in this channel"), text: i18n.t("This channel is archived.") };
    return { title: i18n.t("No messages in this channel yet"), text: i18n.t("Begin with a topic: what is it about?") };
  }
  switch (operandFor(narrow, "is")) {
    case "starred":
      return { title: i18n.t("No starred messages"), text: i18n.t("Star a message by its menu or with *, and find it here again.") };
    case "pinned":
      return { title: i18n.t("No pinned messages"), text: i18n.t("What is pinned in your channels appears here.") };
    case "mentioned":
      return { title: i18n.t("No mentions"), text: i18n.t("Messages that mention you, your groups or everyone appear here.") };
    case "unread":
      return { title: i18n.t("Nothing is unread"), text: i18n.t("You have read everything.") };
    case "dm":
      return { title: i18n.t("No direct messages yet"), text: i18n.t("Write to a colleague with the button New direct message.") };
    case "followed":
      return { title: i18n.t("No messages in topics you follow"), text: i18n.t("Follow a topic by the menu in its head.") };
    case "alerted":
      return { title: i18n.t("No alerts"), text: i18n.t("Messages with your alert words appear here. You choose the words in the settings.") };
    default:
      return undefined;
  }
}
