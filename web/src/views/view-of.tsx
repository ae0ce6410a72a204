import type { View } from "../router";
import { FeedView } from "./feed/feed-view";
import { Inbox } from "./inbox/inbox";
import { Recent } from "./recent/recent";

/** The view of an address such as `#inbox`. */
export function ViewOf({ view }: { view: View }) {
  switch (view) {
    case "inbox":
      return <Inbox />;
    case "recent":
      return <Recent />;
    default:
      return <FeedView narrow={{ terms: [] }} />;
  }
}
