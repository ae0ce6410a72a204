import type { View } from "../router";
import { FeedView } from "./feed/feed-view";

/** The view of an address such as `#inbox`. */
export function ViewOf({ view }: { view: View }) {
  switch (view) {
    default:
      return <FeedView narrow={{ terms: [] }} />;
  }
}
