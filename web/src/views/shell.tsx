import { health } from "../app";
import { i18n } from "../i18n";
import { ground, place } from "../router";
import { Conversations } from "./left/conversations";
import { Compose } from "./compose/compose";
import { FeedView } from "./feed/feed-view";
import { People } from "./right/people";
import { ViewOf } from "./view-of";
import { DialogOf } from "./dialog-of";

/** The page: conversations on the left, a feed or a view, compose, people on the right. */
export function Shell() {
  const below = ground.value;
  const now = place.value;
  return (
    <div class="shell">
      <Conversations />
      <main class="middle">
        <ConnectionStatus />
        {below.kind === "narrow" ? <FeedView narrow={below.narrow} /> : <ViewOf view={below.view} />}
        <Compose />
      </main>
      <People />
      {now.kind === "dialog" ? <DialogOf dialog={now.dialog} path={now.path} /> : null}
    </div>
  );
}

function ConnectionStatus() {
  const now = health.value;
  return (
    <div role="status" aria-label="Connection" class="connection">
      {now.kind === "reconnecting" ? i18n.t("Reconnecting. What you write is kept.") : null}
      {now.kind === "signed-out" ? (
        <a href={`/login/?next=${encodeURIComponent(`/${location.hash}`)}`}>{i18n.t("You are signed out. Sign in again.")}</a>
      ) : null}
    </div>
  );
}
