import { state } from "../../app";
import { i18n } from "../../i18n";
import { HiddenChannelError } from "../../model/feeds";
import { type Narrow, operandFor } from "../../model/narrow";
import { ApiError } from "../../protocol/client";
import { SearchEverywhere } from "../search/search-everywhere";

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
function UnknownInSearch({ narrow }: { narrow: Narrow }) {
  const name = operandFor(narrow, "channel");
  return (
    <div class="feed-notice" role="alert">
      <h2>{i18n.t("Nothing found")}</h2>
      <p>
        {typeof name === "string"
          ? i18n.t("There is no channel “{name}”, or you do not see it.", { name })
          : i18n.t("A filter of this search names a person, a channel or something else that does not exist, or that you do not see.")}
      </p>
      <SearchEverywhere narrow={narrow} />
      <p>
        <a href="#feed">{i18n.t("Go to the combined feed")}</a>
      </p>
    </div>
  );
}

/** Why the messages of a narrow are not shown to the user, and a way to go on. */
export default function RefusedFeed({ error, narrow, onRetry }: { error: Error; narrow: Narrow; onRetry: () => void }) {
  const isHidden = error instanceof HiddenChannelError;
  if (isHidden && error.isNamed && state().userId) return <ForSubscribers />;
  if (!state().userId && (isHidden || (error instanceof ApiError && error.status === 401))) return <ForUsers />;
  if (error instanceof ApiError && error.code === "BAD_NARROW") return <UnknownInSearch narrow={narrow} />;
  const reason = isHidden ? i18n.t("You do not see this channel.") : error.message;
  return (
    <div class="feed-notice" role="alert">
      <h2>{i18n.t("These messages cannot be shown")}</h2>
      <p>{i18n.t("The address may be wrong, or you may have no access: {reason}", { reason })}</p>
      <p>
        <button type="button" onClick={onRetry}>{i18n.t("Try again")}</button> <a href="#feed">{i18n.t("Go to the combined feed")}</a>
      </p>
    </div>
  );
}
