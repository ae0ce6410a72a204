import { health } from "../app";
import { i18n } from "../i18n";
import { ground, place } from "../router";
import { Icon } from "../ui/icons";
import { lazy } from "../ui/lazy";
import { Conversations } from "./left/conversations";
import { openSide } from "./left/drawer";
import { SearchBox } from "./search/search-box";
import { FeedView } from "./feed/feed-view";
import { People } from "./right/people";
import { ViewOf } from "./view-of";
import { DialogOf } from "./dialog-of";

// Loaded while the first messages are fetched, and shown after them.
const Compose = lazy(() => import("./compose/compose"));

/** The page: conversations on the left, a feed or a view, compose, people on the right. */
export function Shell() {
  const below = ground.value;
  const now = place.value;
  return (
    <div class="shell">
      <Bar />
      <Conversations />
      <main class="middle">
        <ConnectionStatus />
        {below.kind === "narrow" ? <FeedView narrow={below.narrow} /> : <ViewOf view={below.view} />}
        <Compose />
      </main>
      <People />
      {openSide.value ? (
        <button type="button" class="scrim" aria-label={i18n.t("Close")} onClick={() => (openSide.value = undefined)} />
      ) : null}
      {now.kind === "dialog" ? <DialogOf dialog={now.dialog} path={now.path} /> : null}
    </div>
  );
}

function Bar() {
  const toggle = (side: "left" | "right") => {
    openSide.value = openSide.value === side ? undefined : side;
  };
  return (
    <header class="bar">
      <button
        type="button"
        class="quiet icon-button side-toggle of-left"
        aria-label="Conversations"
        aria-expanded={openSide.value === "left"}
        aria-controls="conversations"
        onClick={() => toggle("left")}
      >
        <Icon name="menu" />
      </button>
      <SearchBox />
      <button
        type="button"
        class="quiet icon-button side-toggle of-right"
        aria-label={i18n.t("People")}
        aria-expanded={openSide.value === "right"}
        aria-controls="people"
        onClick={() => toggle("right")}
      >
        <Icon name="people" />
      </button>
    </header>
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
