import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { feeds, onBatch, outbox, state } from "../../app";
import { i18n } from "../../i18n";
import type { Feed } from "../../model/feeds";
import { isCombined } from "../../model/matching";
import { conversationOf, keyOf, type Narrow, operandFor, topicNarrow } from "../../model/narrow";
import type { ServerEvent } from "../../model/reducers";
import type { Message } from "../../model/state";
import { addressOf, go } from "../../router";
import { dayKey } from "../../ui/time";
import { watch } from "../../ui/watch";
import { arrange } from "./arrange";
import { FeedNotice, FeedProblem } from "./feed-notice";
import { followKeys } from "./keys";
import { MessageRow } from "./message-row";
import { NarrowHead } from "./narrow-head";
import { PendingMessages } from "./pending";
import { isHeld, isLookedAt, markRead, marksAsRead, releaseHold } from "./reading";
import { Scroller } from "./scroller";
import { markedUnread } from "./unread-from";
import { extendBack, extendOn, fit, hasRoom, rangeOf, type Window, windowAt } from "./window";

/** The messages of a narrow, under its head. */
export function FeedView({ narrow }: { narrow: Narrow }) {
  watch("feeds");
  const feed = feeds.open(narrow);
  useEffect(() => onBatch((events) => followRename(narrow, events)), [keyOf(narrow)]);
  useEffect(() => followWith(narrow, feed), [narrow, feed.isLoaded]);
  return (
    <>
      <NarrowHead narrow={narrow} />
      <Messages key={`${keyOf(narrow)}${feed.serial}`} feed={feed} narrow={narrow} />
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

/** Where the oldest message is put: what stands before it is seen. */
const OLDEST_TOP = 110;
/** Distance from an edge within which more is loaded. */
const EDGE = "1200px 0px";

function Messages({ feed, narrow }: { feed: Feed; narrow: Narrow }) {
  watch("feeds", "outbox");
  const list = useFeed(feed, narrow);
  const { ids, shown, range } = list;
  const isEmpty = feed.isLoaded && !ids.length;
  const pending = outbox.pending(narrow);
  return (
    <div class="feed-frame">
      {/* The scroller takes the focus where there is no message that could. */}
      <div class="feed-scroller" ref={list.scrollerRef} tabIndex={-1}>
        <div class="feed-content" ref={list.contentRef}>
          {feed.isLoaded && ids.length ? <Start feed={feed} isAtStart={range.start === 0} list={list} /> : null}
          {feed.loading === "first" && !feed.isLoaded ? <Skeleton /> : null}
          {feed.error ? <FeedProblem error={feed.error} onRetry={() => feeds.retry(feed)} /> : null}
          {isEmpty && !feed.error && !pending.length ? <FeedNotice narrow={narrow} /> : null}
          {shown.length ? (
            <div role="feed" aria-label="Messages" aria-busy={feed.isLoading} class="feed">
              {shown.map((row) => (
                <MessageRow key={outbox.localIdOf(row.message.id) ?? row.message.id} id={row.message.id} {...row} looks={list.looks} />
              ))}
            </div>
          ) : null}
          <PendingMessages pending={pending} />
          <div ref={list.endRef} class="feed-edge" />
          {feed.isLoaded && !(feed.foundNewest && range.end === ids.length) && ids.length ? (
            <button type="button" class="feed-more" onClick={list.loadOn}>{i18n.t("Load newer messages")}</button>
          ) : null}
        </div>
      </div>
      <ToNewest list={list} feed={feed} />
    </div>
  );
}

function Start({ feed, isAtStart, list }: { feed: Feed; isAtStart: boolean; list: FeedList }) {
  return (
    <>
      {feed.foundOldest && isAtStart ? (
        <p class="feed-start">{i18n.t("This is where it begins.")}</p>
      ) : (
        <button type="button" class="feed-more" onClick={list.loadBack}>{i18n.t("Load older messages")}</button>
      )}
      <div ref={list.startRef} class="feed-edge" />
    </>
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

function ToNewest({ list, feed }: { list: FeedList; feed: Feed }) {
  if (!feed.isLoaded || !feed.ids.length || list.isAtEnd) return null;
  const count = list.newCount;
  return (
    <button type="button" class="feed-to-newest" data-icon="down" onClick={() => void list.toNewest()}>
      {count
        ? i18n.t("{count, plural, one {# new message} other {# new messages}}", { count })
        : i18n.t("Jump to newest")}
    </button>
  );
}

type FeedList = ReturnType<typeof useFeed>;

/** The part of a feed that is in the page, where it is scrolled to, and what is read of it. */
function useFeed(feed: Feed, narrow: Narrow) {
  watch("settings", "mutedUsers");
  const [, redraw] = useState(0);
  const drawAgain = () => redraw((count) => count + 1);
  const scrollerRef = useRef<HTMLDivElement>(null);
  const contentRef = useRef<HTMLDivElement>(null);
  const startRef = useRef<HTMLDivElement>(null);
  const endRef = useRef<HTMLDivElement>(null);
  const held = useRef<Held>({ window: undefined, scroller: undefined, firstUnread: undefined, lastSeen: 0, isPlaced: false, near: undefined, isAtEnd: true, reachedEnd: true }).current;
  const key = keyOf(narrow);
  const { ids } = feed;

  if (feed.isLoaded && !held.isPlaced && !held.window) begin(held, feed, narrow);
  showNear(held, feed, narrow);
  const marked = markedUnread.value;
  if (marked?.key === key) held.firstUnread = marked.id;
  // Messages that are read further up stay: what arrives is added where there is room.
  const follows = (held.scroller?.isAtEnd ?? held.isAtEnd) || (held.reachedEnd && held.window !== undefined && hasRoom(ids, held.window));
  held.window = fit(ids, held.window, feed.foundNewest && follows);
  const range = held.window ? rangeOf(ids, held.window) : { start: 0, end: 0 };
  const { messages } = state();
  const of = (from: number, to: number) => ids.slice(from, to).map((id) => messages.get(id)).filter((each): each is Message => each !== undefined);
  const shown = arrange(of(range.start, range.end), range.start ? messages.get(ids[range.start - 1]!) : undefined, {
    isCombined: isCombined(narrow),
    firstUnread: held.firstUnread,
    mutedUsers: state().mutedUsers,
    dayOf: dayKey,
  });
  held.reachedEnd = feed.foundNewest && range.end === ids.length;
  const reachesEnd = () => feed.foundNewest && (!held.window || held.window.last === (feed.ids.at(-1) ?? held.window.last));

  const read = () => readSeen(held, feed, narrow);
  const loadBack = () => {
    if (range.start > 0) {
      held.window = extendBack(feed.ids, held.window!);
      drawAgain();
    } else void feeds.loadOlder(feed);
  };
  const loadOn = () => {
    if (range.end < feed.ids.length) {
      held.window = extendOn(feed.ids, held.window!);
      drawAgain();
    } else void feeds.loadNewer(feed);
  };
  const toNewest = async () => {
    await feeds.loadNewest(feed);
    held.window = windowAt(feed.ids, undefined);
    held.isAtEnd = true;
    held.scroller!.isAtEnd = true;
    drawAgain();
    requestAnimationFrame(() => held.scroller?.scrollToEnd());
  };
  const toOldest = async () => {
    await feeds.loadOldest(feed);
    held.window = windowAt(feed.ids, feed.ids[0]);
    held.scroller!.isAtEnd = false;
    drawAgain();
    requestAnimationFrame(() => feed.ids.length && held.scroller?.scrollTo(feed.ids[0]!, OLDEST_TOP));
  };

  useLayoutEffect(() => {
    const scroller = new Scroller(
      scrollerRef.current!,
      () => {
        const isChanged = held.isAtEnd !== scroller.isAtEnd;
        held.isAtEnd = scroller.isAtEnd;
        if (scroller.anchor) feed.place = { ...scroller.anchor, isAtEnd: scroller.isAtEnd };
        if (scroller.isAtEnd) held.lastSeen = feed.ids.at(-1) ?? 0;
        scheduleReading(held, read);
        if (isChanged) drawAgain();
      },
      () => held.reachesEnd!(),
    );
    held.scroller = scroller;
    scroller.observe(contentRef.current!);
    const onLooked = () => scheduleReading(held, () => held.read!());
    addEventListener("focus", onLooked);
    document.addEventListener("visibilitychange", onLooked);
    const endKeys = followKeys({
      scroller,
      toNewest: () => held.toNewest!(),
      toOldest: () => held.toOldest!(),
      loadBack: () => held.loadBack!(),
      loadOn: () => held.loadOn!(),
    });
    return () => {
      scroller.disconnect();
      removeEventListener("focus", onLooked);
      document.removeEventListener("visibilitychange", onLooked);
      endKeys();
      releaseHold(key);
      if (markedUnread.peek()?.key === key) markedUnread.value = undefined;
    };
  }, []);
  Object.assign(held, { read, loadBack, loadOn, toNewest, toOldest, reachesEnd });

  useLayoutEffect(() => {
    place(held, feed, narrow);
    keepFocus(held);
    scheduleReading(held, read);
  });

  useEffect(() => {
    if (!feed.isLoaded) return;
    const edges = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting || feed.isLoading || feed.error) continue;
          if (target === startRef.current) loadBack();
          else if (range.end < feed.ids.length || !feed.foundNewest) loadOn();
        }
      },
      { root: scrollerRef.current, rootMargin: EDGE },
    );
    for (const { current } of [startRef, endRef]) if (current) edges.observe(current);
    return () => edges.disconnect();
  }, [range.start === 0 && feed.foundOldest, held.window?.first, held.window?.last, ids.length, feed.isLoading, feed.isLoaded, feed.error]);

  const newest = ids.at(-1) ?? 0;
  const newCount = feed.foundNewest && held.lastSeen && newest > held.lastSeen ? ids.filter((id) => id > held.lastSeen).length : 0;
  const looks = `${state().settings.twenty_four_hour_time} ${dayKey(Date.now() / 1000)}`;
  return { ids, shown, range, looks, newCount, isAtEnd: held.isAtEnd && reachesEnd(), scrollerRef, contentRef, startRef, endRef, loadBack, loadOn, toNewest };
}

/** What a feed keeps between renders. */
interface Held {
  window: Window | undefined;
  scroller: Scroller | undefined;
  /** Where what is unread began when the narrow was opened. */
  firstUnread: number | undefined;
  /** The newest message when one was last at the end. */
  lastSeen: number;
  isPlaced: boolean;
  /** The message of the address that was gone to last. */
  near: number | undefined;
  isAtEnd: boolean;
  /** Whether the window reached to the newest message when it was last rendered. */
  reachedEnd: boolean;
  focused?: number | undefined;
  reading?: number | undefined;
  read?: () => void;
  loadBack?: () => void;
  loadOn?: () => void;
  toNewest?: () => Promise<void>;
  toOldest?: () => Promise<void>;
  reachesEnd?: () => boolean;
}

/** Choose what is shown first: the message of the address, the first unread one, or the last place. */
function begin(held: Held, feed: Feed, narrow: Narrow): void {
  const { unread } = state();
  held.firstUnread = feed.ids.find((id) => unread.has(id));
  held.lastSeen = feed.ids.at(-1) ?? 0;
  const target = narrow.near ?? held.firstUnread ?? (feed.place?.isAtEnd === false ? feed.place.id : undefined);
  held.isAtEnd = target === undefined && feed.foundNewest;
  held.window = windowAt(feed.ids, target);
}

/** Scroll to where the feed opens, once; afterwards hold the place. */
function place(held: Held, feed: Feed, narrow: Narrow): void {
  const scroller = held.scroller!;
  if (!feed.isLoaded || !feed.ids.length) return;
  const height = scroller.element.clientHeight;
  if (narrow.near !== undefined && held.near !== narrow.near) {
    held.near = narrow.near;
    held.isPlaced = true;
    goNear(held, feed, narrow.near, height);
    return;
  }
  if (held.isPlaced) {
    scroller.restore();
    return;
  }
  held.isPlaced = true;
  const { place: before } = feed;
  if (held.firstUnread !== undefined) scroller.scrollTo(held.firstUnread, Math.round(height / 4));
  else if (before && !before.isAtEnd && scroller.article(before.id)) scroller.scrollTo(before.id, before.top);
  else scroller.scrollToEnd();
}

/** Put the message of the address into the window. */
function showNear(held: Held, feed: Feed, { near }: Narrow): void {
  if (near === undefined) held.near = undefined;
  else if (held.window && near !== held.near && feed.isLoaded) {
    const { first, last } = held.window;
    if (near < first || near > last) held.window = windowAt(feed.ids, near);
    if (held.scroller) held.scroller.isAtEnd = false;
    held.isAtEnd = false;
  }
}

function goNear(held: Held, feed: Feed, id: number, height: number): void {
  const scroller = held.scroller!;
  const nearest = feed.has(id) ? id : (feed.ids.find((each) => each > id) ?? feed.ids.at(-1)!);
  scroller.scrollTo(nearest, Math.round(height / 4));
  const article = scroller.article(nearest);
  article?.classList.add("is-target");
  setTimeout(() => article?.classList.remove("is-target"), TARGET_MS);
  if (!isTyping()) article?.focus({ preventScroll: true });
}

/** How long the message of an address is marked. */
const TARGET_MS = 2500;

function isTyping(): boolean {
  const { activeElement } = document;
  return activeElement instanceof HTMLTextAreaElement || activeElement instanceof HTMLInputElement;
}

/** Focus the message nearest to one that had the focus and is no longer in the page. */
function keepFocus(held: Held): void {
  const scroller = held.scroller!;
  const article = document.activeElement?.closest<HTMLElement>("[data-message-id]");
  if (article) held.focused = Number(article.dataset.messageId);
  else if (document.activeElement !== document.body) held.focused = undefined;
  else if (held.focused !== undefined) {
    const wanted = held.focused;
    const { articles } = scroller;
    const nearest = articles.find((each) => Number(each.dataset.messageId) >= wanted) ?? articles.at(-1);
    nearest?.focus({ preventScroll: true });
  }
}

const READING_DELAY_MS = 150;

function scheduleReading(held: Held, read: () => void): void {
  if (held.reading !== undefined) return;
  held.reading = window.setTimeout(() => {
    held.reading = undefined;
    if (held.scroller?.element.isConnected) read();
  }, READING_DELAY_MS);
}

/** Mark what is seen as read, if one looks at it. */
function readSeen(held: Held, feed: Feed, narrow: Narrow): void {
  const { unread } = state();
  if (!held.scroller || !unread.total) return;
  if (!isLookedAt()) {
    // What arrives while one is away is set apart when one comes back.
    const isAllRead = held.firstUnread === undefined || !feed.ids.some((id) => id >= held.firstUnread! && id <= held.lastSeen && unread.has(id));
    const next = feed.ids.find((id) => id > held.lastSeen && unread.has(id));
    if (isAllRead && next !== undefined && (held.firstUnread === undefined || held.firstUnread <= held.lastSeen)) held.firstUnread = next;
    return;
  }
  if (!marksAsRead(narrow) || isHeld(keyOf(narrow))) return;
  markRead(held.scroller.seen());
}
