import { useLayoutEffect, useRef } from "preact/hooks";
import { feeds, state } from "../../app";
import { i18n } from "../../i18n";
import { type Feed } from "../../model/feeds";
import { keyOf, type Narrow } from "../../model/narrow";
import { watch } from "../../ui/watch";
import { MessageRow } from "./message-row";

/** The messages of a narrow. */
export function FeedView({ narrow }: { narrow: Narrow }) {
  watch("feeds");
  const feed = feeds.open(narrow);
  return <Messages key={keyOf(narrow)} feed={feed} />;
}

const MOST = 300;

function Messages({ feed }: { feed: Feed }) {
  const scroller = useRef<HTMLDivElement>(null);
  const ids = feed.ids.slice(-MOST);
  const newest = ids.at(-1);
  useLayoutEffect(() => {
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [newest]);
  if (feed.error) {
    return (
      <div class="feed-notice" role="alert">
        <p>{feed.error.message}</p>
        <button type="button" onClick={() => feeds.retry(feed)}>{i18n.t("Try again")}</button>
      </div>
    );
  }
  if (feed.isLoaded && !ids.length) return <p class="feed-notice">{i18n.t("No messages here.")}</p>;
  return (
    <div class="feed-scroller" ref={scroller}>
      {feed.isLoaded && !feed.foundOldest ? (
        <button type="button" onClick={() => feeds.loadOlder(feed)}>{i18n.t("Load older messages")}</button>
      ) : null}
      {ids.length ? (
        <div role="feed" aria-label="Messages" aria-busy={feed.isLoading}>
          {ids.map((id) => {
            const message = state().messages.get(id);
            return message ? <MessageRow key={id} message={message} /> : null;
          })}
        </div>
      ) : null}
    </div>
  );
}
