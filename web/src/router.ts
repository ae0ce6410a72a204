/** The place that the address names: a view, a narrow or a dialog. Back and forward work. */

import { signal } from "@preact/signals";
import { channelNarrow, hashOf, type Narrow, parseNarrow } from "./model/narrow";
import type { State } from "./model/state";

export type Place =
  | { kind: "narrow"; narrow: Narrow }
  | { kind: "view"; view: View }
  /** A dialog over the view that was shown before: `#settings/...` and the like. */
  | { kind: "dialog"; dialog: Dialog; path: string[] };

export const VIEWS = ["inbox", "recent", "feed", "drafts", "scheduled", "reminders"] as const;
export type View = (typeof VIEWS)[number];
export const DIALOGS = ["settings", "organization", "channels", "groups", "user", "about", "new"] as const;
export type Dialog = (typeof DIALOGS)[number];

export const place = signal<Place>({ kind: "view", view: "inbox" });
/** The view or narrow below a dialog. */
export const ground = signal<Exclude<Place, { kind: "dialog" }>>({ kind: "view", view: "inbox" });

let stateOf: () => State;

export function channelName(id: number): string | undefined {
  return stateOf().channels.get(id)?.name;
}

/** Return the id of a channel by its name, in which spaces may be hyphens; the name if there is none. */
function channelId(name: string): number | string {
  const plain = (text: string) => text.toLowerCase().replace(/-/g, " ");
  const wanted = plain(name);
  for (const channel of stateOf().channels.values()) if (plain(channel.name) === wanted) return channel.stream_id;
  return name;
}

const HOME_VIEWS: Record<string, View> = { inbox: "inbox", recent_topics: "recent", recent: "recent", all_messages: "feed" };

export function parse(hash: string): Place {
  const found = placeOf(hash);
  // Spectators have no conversations, settings or lists of their own: they read the feed and its narrows.
  return stateOf().userId || found.kind === "narrow" ? found : { kind: "view", view: "feed" };
}

/** Return the narrow of an address, if it is one that can be told without the state. */
export function narrowOfAddress(hash: string): Narrow | undefined {
  return hash.startsWith("#narrow/") ? parseNarrow(hash.slice("#narrow/".length), () => undefined) : undefined;
}

function placeOf(hash: string): Place {
  const path = hash.replace(/^#/, "").split("/");
  const head = path[0]!;
  if (head === "narrow") {
    const narrow = parseNarrow(hash.replace(/^#narrow\/?/, ""), channelId);
    if (narrow) return narrow.terms.length || narrow.near ? { kind: "narrow", narrow } : { kind: "view", view: "feed" };
  }
  if (head === "streams") return { kind: "dialog", dialog: "channels", path: path.slice(1) };
  const view = VIEWS.find((each) => each === head) ?? HOME_VIEWS[head];
  if (view) return { kind: "view", view };
  const dialog = DIALOGS.find((each) => each === head);
  if (dialog) return { kind: "dialog", dialog, path: path.slice(1) };
  return { kind: "view", view: HOME_VIEWS[String(stateOf().settings.web_home_view)] ?? "inbox" };
}

/** Asks whether another place may be shown; undefined if there is nothing to ask. */
type Guard = () => Promise<boolean> | undefined;
let guard: Guard = () => undefined;
/** Whether the address that comes is one that `go` has chosen: only the browser's buttons are guarded. */
let isChosen = false;

/** Ask before the browser's buttons, or another address, leave a place. */
export function guardPlace(asking: Guard): void {
  guard = asking;
}

/** Follow the address from now on. */
export function startRouter(state: () => State): void {
  stateOf = state;
  let shown = "";
  const follow = () => {
    const asked = isChosen ? undefined : guard();
    isChosen = false;
    if (asked) {
      const wanted = location.hash;
      history.pushState(null, "", shown);
      void asked.then((may) => may && go(wanted));
      return;
    }
    const next = parse(location.hash);
    const before = place.peek();
    const isProfile = isOfProfile(next);
    // Profiles lead to others, and from all of them back to the list in which the first was opened.
    if (!isProfile) opener = "";
    else if (before.kind === "dialog" && !isOfProfile(before)) opener = shown;
    shown = location.hash;
    place.value = next;
    if (next.kind !== "dialog") ground.value = next;
  };
  addEventListener("hashchange", follow);
  follow();
}

export function addressOf(narrow: Narrow): string {
  return hashOf(narrow, channelName);
}

export function channelAddress(id: number): string {
  return addressOf(channelNarrow(id));
}

export function go(hash: string, { replace = false } = {}): void {
  // The same address again is no event that would take the mark away.
  isChosen = replace || new URL(hash, location.href).hash !== location.hash;
  if (replace) {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = hash;
}

/** The address of the dialog from which a profile was opened. */
let opener = "";
const isOfProfile = (at: Place) => at.kind === "dialog" && at.dialog === "user";

/** Close the dialog: the view below it is shown, or the dialog from which a profile was opened. */
export function closeDialog(): void {
  const below = ground.value;
  if (opener) go(opener);
  else go(below.kind === "narrow" ? addressOf(below.narrow) : `#${below.view}`);
}
