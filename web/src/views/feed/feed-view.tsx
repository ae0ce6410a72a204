import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { feeds, onBatch, outbox, state } from "../../app";
import { i18n } from "../../i18n";
import type { Feed } from "../../model/feeds";
import { conversationOf, keyOf, type Narrow, operandFor, topicNarrow } from "../../model/narrow";
import type { ServerEvent } from "../../model/events";
import { addressOf, go } from "../../router";
import { lazy, load } from "../../ui/lazy";
import { dayKey } from "../../ui/time";
import { watch } from "../../ui/watch";
import { SearchNote } from "../search/search-note";
import { FeedProblem } from "./feed-problem";
import { MessageRow } from "./message-row";
import { NarrowHead } from "./narrow-head";
import { PendingMessages } from "./pending";
import { PinnedBar } from "./pinned-bar";
import { isSelecting, selectIn } from "./selecting";
import { TopicDescriptionBar } from "./topic-description-bar";
import { TypingNotice } from "./typing-notice";
import { Viewport } from "./viewport";

const SelectionBar = lazy(() => import("./selection-bar"));
const FeedNotice = lazy(() => import("./feed-notice"));

/** The messages of a narrow, under its head. */
export function FeedView({ narrow }: { narrow: Narrow }) {
  watch("feeds");
  const feed = feeds.open(narrow);
  useEffect(() => onBatch((events) => followRename(narrow, events)), [keyOf(narrow)]);
  useEffect(() => followWith(narrow, feed), [narrow, feed.isLoaded]);
  useEffect(() => selectIn(() => feeds.open(narrow).ids), [keyOf(narrow)]);
  useEffect(() => {
    if (narrow.near === undefined || !feed.isLoaded || feed.has(narrow.near)) return;
    void load(() => import("./follow-moved")).then((module) => module.followMoved(narrow));
  }, [narrow, feed.isLoaded]);
  return (
    <>
      <NarrowHead narrow={narrow} />
      <SearchNote narrow={narrow} />
      <TopicDescriptionBar narrow={narrow} />
      <PinnedBar narrow={narrow} />
      <Messages key={`${keyOf(narrow)}${feed.serial}`} feed={feed} narrow={narrow} />
      {isSelecting.value ? <SelectionBar /> : null}
      <TypingNotice narrow={narrow} />
    </>
  );
}

/** Follow a topic that was renamed or moved as a whole. */
function followRename(narrow: Narrow, events: readonly ServerEvent[]): void {
  const here = conversationOf(narrow);
  if (here?.kind !== "topic") return;
  for (const event of events) {
    const isWhole = event.type === "update_message" && event.propagate_mode === "change_all";
    if (!isWhole || event.stream_id !== here.channelId) continue;
    if (String(event.orig_subject).toLowerCase() !== here.topic.toLowerCase()) continue;
    const to = topicNarrow(event.new_stream_id ?? here.channelId, event.subject ?? here.topic);
    if (state().channels.has(to.terms[0]!.operand as number)) go(addressOf(to), { replace: true });
  }
}

/** Go to the conversation that a message is in now, where the address names one by a message. */
function followWith(narrow: Narrow, feed: Feed): void {
  const id = operandFor(narrow, "with");
  if (typeof id !== "number" || !feed.isLoaded) return;
  const message = state().messages.get(id) ?? state().messages.get(feed.ids[0] ?? 0);
  if (message?.type === "stream") {
    go(addressOf({ ...topicNarrow(message.stream_id!, message.subject), ...(narrow.near ? { near: narrow.near } : {}) }), { replace: true });
  }
}

function Messages({ feed, narrow }: { feed: Feed; narrow: Narrow }) {
  watch("feeds", "outbox", "settings", "mutedUsers");
  const [, redraw] = useState(0);
  const viewport = useMemo(() => new Viewport(feed, narrow, () => redraw((count) => count + 1)), []);
  const rows = viewport.render(narrow);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const start = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => viewport.mount(scroller.current!, content.current!), []);
  useLayoutEffect(() => viewport.settle());
  useLayoutEffect(() => viewport.observeEdges({ start: start.current, end: end.current }), [viewport.edgesKey]);

  const pending = outbox.pending(narrow);
  const sent = pending.at(-1)?.outgoing.localId;
  useEffect(() => {
    if (sent) void viewport.toNewest();
  }, [sent]);

  const hasMessages = feed.isLoaded && feed.ids.length > 0;
  const looks = `${state().settings.twenty_four_hour_time} ${dayKey(Date.now() / 1000)}`;
  return (
    <div class="feed-frame">
      {/* The scroller takes the focus where there is no message that could. */}
      <div class="feed-scroller" ref={scroller} tabIndex={-1}>
        <div class="feed-content" ref={content}>
          {hasMessages ? (
            <>
              {feed.foundOldest && viewport.isAtStart ? (
                <p class="feed-start">{conversationOf(narrow) || !narrow.terms.length ? i18n.t("This is where it begins.") : i18n.t("There are no older messages.")}</p>
              ) : (
                <button type="button" class="feed-more" onClick={() => viewport.loadBack()}>{i18n.t("Load older messages")}</button>
              )}
              <div ref={start} class="feed-edge" />
            </>
          ) : null}
          {feed.loading === "first" && !feed.isLoaded ? <Skeleton /> : null}
          {feed.error ? <FeedProblem error={feed.error} narrow={narrow} onRetry={() => feeds.retry(feed)} /> : null}
          {feed.isLoaded && !hasMessages && !feed.error && !pending.length ? <FeedNotice narrow={narrow} /> : null}
          {rows.length ? (
            <div role="feed" aria-label="Messages" aria-busy={feed.isLoading} class="feed">
              {rows.map((row) => (
                <MessageRow key={outbox.localIdOf(row.message.id) ?? row.message.id} id={row.message.id} {...row} match={feed.matches.get(row.message.id)} looks={looks} />
              ))}
            </div>
          ) : null}
          <PendingMessages pending={pending} />
          <div ref={end} class="feed-edge" />
          {hasMessages && !viewport.reachesNewest ? (
            <button type="button" class="feed-more" onClick={() => viewport.loadOn()}>{i18n.t("Load newer messages")}</button>
          ) : null}
        </div>
      </div>
      {hasMessages && !viewport.isAtNewest ? <ToNewest viewport={viewport} /> : null}
    </div>
  );
}

function Skeleton() {
  return (
    <div class="feed-skeleton" role="status" aria-label={i18n.t("Loading messages")}>
      {[72, 46, 60, 38, 66].map((width) => (
        <div key={width} class="skeleton-row" ref={(row) => row?.style.setProperty("--width", `${width}%`)} />
      ))}
    </div>
  );
}

function ToNewest({ viewport }: { viewport: Viewport }) {
  const count = viewport.newCount;
  return (
    <button type="button" class="feed-to-newest" data-icon="down" onClick={() => void viewport.toNewest()}>
      {count
        ? i18n.t("{count, plural, one {# new message} other {# new messages}}", { count })
        : i18n.t("Jump to newest")}
    </button>
  );
}
