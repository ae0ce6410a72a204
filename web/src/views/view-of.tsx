import type { View } from "../router";
import { lazy } from "../ui/lazy";
import { FeedView } from "./feed/feed-view";
import { Inbox } from "./inbox/inbox";

const Recent = lazy(() => import("./recent/recent"));
const DraftsView = lazy(() => import("./drafts/drafts-view"));
const ScheduledView = lazy(() => import("./drafts/scheduled-view"));
const RemindersView = lazy(() => import("./drafts/reminders-view"));

/** The view of an address such as `#inbox`. */
export function ViewOf({ view }: { view: View }) {
  switch (view) {
    case "inbox":
      return <Inbox />;
    case "recent":
      return <Recent />;
    case "drafts":
      return <DraftsView />;
    case "scheduled":
      return <ScheduledView />;
    case "reminders":
      return <RemindersView />;
    default:
      return <FeedView narrow={{ terms: [] }} />;
  }
}
