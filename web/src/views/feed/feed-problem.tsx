import { i18n } from "../../i18n";
import type { Narrow } from "../../model/narrow";
import { ApiError, NetworkError } from "../../protocol/client";
import { lazy } from "../../ui/lazy";

const RefusedFeed = lazy(() => import("./refused-feed"));

/** Why messages could not be fetched, and a way to go on. */
export function FeedProblem(props: { error: Error; narrow: Narrow; onRetry: () => void }) {
  const { error } = props;
  if (!(error instanceof NetworkError || (error instanceof ApiError && error.isTransient))) return <RefusedFeed {...props} />;
  // What is shown without a network cannot be loaded then.
  return (
    <div class="feed-notice" role="alert">
      <h2>{i18n.t("The messages could not be loaded")}</h2>
      <p>{error.message}</p>
      <p>
        <button type="button" onClick={props.onRetry}>{i18n.t("Try again")}</button>
      </p>
    </div>
  );
}
