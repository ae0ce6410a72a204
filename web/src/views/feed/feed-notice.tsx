import { state } from "../../app";
import { i18n } from "../../i18n";
import { HiddenChannelError } from "../../model/feeds";
import { listed, userName } from "../../model/names";
import { conversationOf, type Narrow, operandFor } from "../../model/narrow";
import { ApiError, NetworkError } from "../../protocol/client";

/** What is shown where there are no messages: why, and what to do. */
export function FeedNotice({ narrow }: { narrow: Narrow }) {
  const { title, text } = emptyText(narrow);
  return (
    <div class="feed-notice">
      <h2>{title}</h2>
      <p>{text}</p>
    </div>
  );
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
  if (operandFor(narrow, "channel") !== undefined) {
    return { title: i18n.t("No messages in this channel yet"), text: i18n.t("Begin with a topic: what is it about?") };
  }
  switch (operandFor(narrow, "is")) {
    case "starred":
      return { title: i18n.t("No starred messages"), text: i18n.t("Star a message by its menu or with *, and find it here again.") };
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

/** What spectators see where an account is needed. */
function ForUsers() {
  return (
    <div class="feed-notice" role="alert">
      <h2>{i18n.t("Sign in to see these messages")}</h2>
      <p>
        <a href={`/login/?next=${encodeURIComponent(`/${location.hash}`)}`}>{i18n.t("Sign in")}</a>{" "}
        <a href="#feed">{i18n.t("Go to the combined feed")}</a>
      </p>
    </div>
  );
}

/** What is shown of a private channel of which the user sees the name alone. */
function ForSubscribers() {
  return (
    <div class="feed-notice" role="alert">
      <h2>{i18n.t("Only subscribers read this channel")}</h2>
      <p>{i18n.t("It is private, and you are not subscribed to it. Ask a subscriber to add you.")}</p>
    </div>
  );
}

/** What is shown for a search that the server cannot make. */
function UnknownInSearch() {
  return (
    <div class="feed-notice" role="alert">
      <h2>{i18n.t("Nothing found")}</h2>
      <p>{i18n.t("A filter of this search names a person, a channel or something else that does not exist, or that you do not see.")}</p>
      <p>
        <a href="#feed">{i18n.t("Go to the combined feed")}</a>
      </p>
    </div>
  );
}

/** Why messages could not be fetched, and a way to go on. */
export function FeedProblem({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const isHidden = error instanceof HiddenChannelError;
  if (isHidden && error.isNamed && state().userId) return <ForSubscribers />;
  if (!state().userId && (isHidden || (error instanceof ApiError && error.status === 401))) return <ForUsers />;
  if (error instanceof ApiError && error.code === "BAD_NARROW") return <UnknownInSearch />;
  const reason = isHidden ? i18n.t("You do not see this channel.") : error.message;
  const isTransient = error instanceof NetworkError || (error instanceof ApiError && error.isTransient);
  return (
    <div class="feed-notice" role="alert">
      <h2>{isTransient ? i18n.t("The messages could not be loaded") : i18n.t("These messages cannot be shown")}</h2>
      <p>{isTransient ? error.message : i18n.t("The address may be wrong, or you may have no access: {reason}", { reason })}</p>
      <p>
        <button type="button" onClick={onRetry}>{i18n.t("Try again")}</button>{" "}
        {isTransient ? null : <a href="#feed">{i18n.t("Go to the combined feed")}</a>}
      </p>
    </div>
  );
}
