import { useLayoutEffect, useRef } from "preact/hooks";
import { health, state } from "../app";
import { i18n } from "../i18n";
import { ground, place } from "../router";
import { focusMain, keepFocus } from "../ui/focus";
import { Icon } from "../ui/icons";
import { lazy } from "../ui/lazy";
import { Conversations } from "./left/conversations";
import { closeSide, leaveSide, openSide, toggleSide } from "./left/drawer";
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
  const side = openSide.value;
  useFocus(below, side);
  return (
    <div class={state().userId ? "shell" : "shell of-spectator"}>
      <button type="button" class="skip" onClick={focusMain}>{i18n.t("Skip to the content")}</button>
      <Bar />
      <Conversations />
      <main class="middle" tabIndex={-1} inert={side !== undefined}>
        <ConnectionStatus />
        {below.kind === "narrow" ? <FeedView narrow={below.narrow} /> : <ViewOf view={below.view} />}
        <Compose />
      </main>
      {state().userId ? <People /> : null}
      {side ? <button type="button" class="scrim" aria-label={i18n.t("Close")} onClick={closeSide} /> : null}
      {now.kind === "dialog" ? <DialogOf dialog={now.dialog} path={now.path} /> : null}
    </div>
  );
}

/** Move the focus into a side that opens, and into the view that is shown when what had it is gone. */
function useFocus(below: unknown, side: "left" | "right" | undefined): void {
  const shown = useRef(below);
  useLayoutEffect(() => {
    if (!side) return;
    document.getElementById(side === "left" ? "conversations" : "people")?.focus();
    return leaveSide;
  }, [side]);
  useLayoutEffect(() => {
    if (shown.current !== below) keepFocus();
    shown.current = below;
  }, [below]);
}

function Bar() {
  return (
    <header class="bar" inert={openSide.value !== undefined}>
      <button
        type="button"
        class="quiet icon-button side-toggle of-left"
        aria-label="Conversations"
        aria-expanded={openSide.value === "left"}
        aria-controls="conversations"
        onClick={() => toggleSide("left")}
      >
        <Icon name="menu" />
      </button>
      <SearchBox />
      {state().userId ? (
        <button
          type="button"
          class="quiet icon-button side-toggle of-right"
          aria-label={i18n.t("People")}
          aria-expanded={openSide.value === "right"}
          aria-controls="people"
          onClick={() => toggleSide("right")}
        >
          <Icon name="people" />
        </button>
      ) : null}
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
