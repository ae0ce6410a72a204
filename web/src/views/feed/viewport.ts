/** The part of a feed that is in the page: which messages, where it is scrolled to, and what is read of it. */

import { feeds, state } from "../../app";
import type { Feed } from "../../model/feeds";
import { isCombined } from "../../model/matching";
import { conversationOf, keyOf, type Narrow } from "../../model/narrow";
import type { Message } from "../../model/state";
import { dayKey } from "../../ui/time";
import { arrange, type Row } from "./arrange";
import { followKeys } from "./keys";
import { isHeld, isLookedAt, markRead, marksAsRead, releaseHold } from "./reading";
import { Scroller } from "./scroller";
import { markedUnread } from "./unread-from";
import { extendBack, extendOn, fit, hasRoom, rangeOf, type Window, windowAt } from "./window";

/** Distance of the oldest message from the top, so that what stands before it is seen. */
const OLDEST_TOP = 110;
/** Distance from an edge within which more messages are loaded. */
const EDGE_MARGIN = "1200px 0px";
/** How long the message of an address is highlighted. */
const HIGHLIGHT_MS = 2500;
const READING_DELAY_MS = 150;
/** Messages beyond an edge of the page from which on more are fetched while a person scrolls there. */
const AHEAD = 100;

/** Elements that mark the edges of the messages in the page. */
export interface Edges {
  start: Element | null;
  end: Element | null;
}

/**
 * One per feed that is shown, from the first render to the last.
 *
 * A component calls `render` while it renders, `settle` after each render, and `mount` after the
 * first one; `redraw` is called when it has to render again.
 */
export class Viewport {
  #window: Window | undefined;
  #range = { start: 0, end: 0 };
  #scroller: Scroller | undefined;
  /** Where what is unread began when the narrow was opened. */
  #firstUnread: number | undefined;
  /** The newest message when the viewport was last at the end. */
  #lastSeen = 0;
  #isPlaced = false;
  #isAtEnd = true;
  /** The message of the address that was shown last. */
  #shownNear: number | undefined;
  /** The message that has the focus, or had it until it was removed. */
  #focused: number | undefined;
  /** Whether the newest message was in the page after the last render. */
  #reachedNewest = true;
  #readingTimer: number | undefined;

  constructor(
    private readonly feed: Feed,
    private narrow: Narrow,
    private readonly redraw: () => void,
  ) {}

  /** Return the rows to show for the feed as it is now. */
  render(narrow: Narrow): Row[] {
    this.narrow = narrow;
    const { feed } = this;
    if (feed.isLoaded && !this.#isPlaced && !this.#window) this.#begin();
    this.#includeNear();
    const marked = markedUnread.value;
    if (marked?.key === keyOf(narrow)) this.#firstUnread = marked.id;
    this.#window = fit(feed.ids, this.#window, feed.foundNewest && this.#followsEnd());
    this.#range = this.#window ? rangeOf(feed.ids, this.#window) : { start: 0, end: 0 };
    this.#reachedNewest = this.reachesNewest;
    return this.#rows();
  }

  /** Whether the oldest message that was fetched is in the page. */
  get isAtStart(): boolean {
    return this.#range.start === 0;
  }

  /** Whether the newest message of the narrow is in the page. */
  get reachesNewest(): boolean {
    return this.feed.foundNewest && this.#range.end === this.feed.ids.length;
  }

  /** Whether the newest message of the narrow is seen. */
  get isAtNewest(): boolean {
    return this.#isAtEnd && this.#holdsNewest();
  }

  /** How many messages have arrived since the viewport was last at the end. */
  get newCount(): number {
    const { ids, foundNewest } = this.feed;
    if (!foundNewest || !this.#lastSeen) return 0;
    let count = 0;
    for (let index = ids.length - 1; index >= 0 && ids[index]! > this.#lastSeen; index -= 1) count += 1;
    return count;
  }

  /** Changes when the edges have to be observed anew: after each change of what is in the page. */
  get edgesKey(): string {
    const { feed } = this;
    const parts = [this.#window?.first, this.#window?.last, feed.ids.length, feed.foundOldest, feed.loading, feed.isLoaded, feed.error];
    return parts.join();
  }

  /** Begin to follow scrolling, focus and keys. Returns a function that ends this. */
  mount(element: HTMLElement, content: Element): () => void {
    const scroller = new Scroller(element, () => this.#onMoved(), () => this.#holdsNewest());
    this.#scroller = scroller;
    scroller.observe(content);
    this.#followFocus(element);
    const onLooked = () => this.#scheduleReading();
    addEventListener("focus", onLooked);
    document.addEventListener("visibilitychange", onLooked);
    const endKeys = followKeys(scroller, this);
    return () => {
      scroller.disconnect();
      removeEventListener("focus", onLooked);
      document.removeEventListener("visibilitychange", onLooked);
      endKeys();
      const key = keyOf(this.narrow);
      releaseHold(key);
      if (markedUnread.peek()?.key === key) markedUnread.value = undefined;
    };
  }

  /** After a render: hold the place and the focus, and mark what is seen as read. */
  settle(): void {
    this.#place();
    this.#keepFocus();
    this.#scheduleReading();
  }

  /** Load more when an edge comes near. Returns a function that ends this. */
  observeEdges({ start, end }: Edges): () => void {
    const { feed } = this;
    if (!feed.isLoaded) return () => {};
    const edges = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting || feed.isLoading || feed.error) continue;
          if (target === start) this.loadBack();
          else if (!this.reachesNewest) this.loadOn();
        }
      },
      { root: this.#scroller!.element, rootMargin: EDGE_MARGIN },
    );
    for (const edge of [start, end]) if (edge) edges.observe(edge);
    return () => edges.disconnect();
  }

  loadBack(): void {
    if (this.#range.start > 0) {
      this.#window = extendBack(this.feed.ids, this.#window!);
      this.redraw();
    } else void feeds.loadOlder(this.feed);
  }

  loadOn(): void {
    if (this.#range.end < this.feed.ids.length) {
      this.#window = extendOn(this.feed.ids, this.#window!);
      this.redraw();
    } else void feeds.loadNewer(this.feed);
  }

  /** Show the newest message. Where it is seen already, nothing is rendered for it. */
  async toNewest(): Promise<void> {
    if (this.#isPlaced && this.isAtNewest && this.#scroller?.isAtEnd) return;
    await feeds.loadNewest(this.feed);
    this.#window = windowAt(this.feed.ids, undefined);
    this.#setAtEnd(true);
    this.redraw();
    requestAnimationFrame(() => this.#scroller?.scrollToEnd());
  }

  async toOldest(): Promise<void> {
    const { feed } = this;
    await feeds.loadOldest(feed);
    this.#window = windowAt(feed.ids, feed.ids[0]);
    this.#setAtEnd(false);
    this.redraw();
    requestAnimationFrame(() => feed.ids.length && this.#scroller?.scrollTo(feed.ids[0]!, OLDEST_TOP));
  }

  #rows(): Row[] {
    const { messages, mutedUsers } = state();
    const { start, end } = this.#range;
    const { ids } = this.feed;
    const shown = ids.slice(start, end).map((id) => messages.get(id)).filter((each): each is Message => each !== undefined);
    return arrange(shown, start ? messages.get(ids[start - 1]!) : undefined, {
      isCombined: isCombined(this.narrow),
      firstUnread: this.#firstUnread,
      mutedUsers,
      dayOf: dayKey,
    });
  }

  /** Choose what is shown first: the message of the address, the first unread one, or the last place. */
  #begin(): void {
    const { feed, narrow } = this;
    const { unread } = state();
    this.#firstUnread = feed.ids.find((id) => unread.has(id));
    this.#lastSeen = feed.ids.at(-1) ?? 0;
    const target = narrow.near ?? this.#firstUnread ?? (feed.place?.isAtEnd === false ? feed.place.id : undefined);
    this.#isAtEnd = target === undefined && feed.foundNewest;
    this.#window = windowAt(feed.ids, target);
  }

  /** Put the message of the address into the window. */
  #includeNear(): void {
    const { near } = this.narrow;
    if (near === undefined) this.#shownNear = undefined;
    else if (this.#window && near !== this.#shownNear && this.feed.isLoaded) {
      const { first, last } = this.#window;
      if (near < first || near > last) this.#window = windowAt(this.feed.ids, near);
      this.#setAtEnd(false);
    }
  }

  /** Whether messages that arrive are put into the page. Those that are read further up stay in it. */
  #followsEnd(): boolean {
    if (this.#scroller?.isAtEnd ?? this.#isAtEnd) return true;
    return this.#reachedNewest && this.#window !== undefined && hasRoom(this.feed.ids, this.#window);
  }

  #holdsNewest(): boolean {
    const { feed } = this;
    return feed.foundNewest && (!this.#window || this.#window.last === (feed.ids.at(-1) ?? this.#window.last));
  }

  #setAtEnd(isAtEnd: boolean): void {
    this.#isAtEnd = isAtEnd;
    if (this.#scroller) this.#scroller.isAtEnd = isAtEnd;
  }

  #onMoved(): void {
    const { feed } = this;
    const { anchor, isAtEnd } = this.#scroller!;
    const isChanged = this.#isAtEnd !== isAtEnd;
    this.#isAtEnd = isAtEnd;
    if (anchor) {
      this.#fetchAhead(anchor.id - (feed.place?.id ?? anchor.id));
      feed.place = { ...anchor, isAtEnd };
    }
    if (isAtEnd) this.#lastSeen = feed.ids.at(-1) ?? 0;
    this.#scheduleReading();
    if (isChanged) this.redraw();
  }

  /** Fetch before the edge is reached, in the direction in which the place moves. */
  #fetchAhead(direction: number): void {
    const { feed } = this;
    if (feed.isLoading) return;
    if (direction < 0 && this.#range.start < AHEAD) void feeds.loadOlder(feed);
    else if (direction > 0 && feed.ids.length - this.#range.end < AHEAD) void feeds.loadNewer(feed);
  }

  /** Scroll to where the feed opens, once; afterwards hold the place. */
  #place(): void {
    const { feed, narrow } = this;
    const scroller = this.#scroller!;
    if (!feed.isLoaded || !feed.ids.length) return;
    const isFirst = !this.#isPlaced;
    this.#isPlaced = true;
    const { place } = feed;
    const isNewPlace = narrow.near !== undefined && this.#shownNear !== narrow.near;
    if (!isNewPlace && !isFirst) {
      scroller.hold();
      return;
    }
    const quarter = Math.round(scroller.element.clientHeight / 4);
    if (isNewPlace) {
      this.#shownNear = narrow.near;
      this.#show(narrow.near!, quarter);
    } else if (this.#firstUnread !== undefined) scroller.scrollTo(this.#firstUnread, quarter);
    else if (place && !place.isAtEnd && scroller.article(place.id)) scroller.scrollTo(place.id, place.top);
    else scroller.scrollToEnd();
  }

  /** Scroll to a message, or the nearest one, highlight it, and give it the focus. */
  #show(id: number, top: number): void {
    const { feed } = this;
    const scroller = this.#scroller!;
    const nearest = feed.has(id) ? id : (feed.ids.find((each) => each > id) ?? feed.ids.at(-1)!);
    scroller.scrollTo(nearest, top);
    const article = scroller.article(nearest);
    article?.classList.add("is-target");
    setTimeout(() => article?.classList.remove("is-target"), HIGHLIGHT_MS);
    if (!isTyping()) article?.focus({ preventScroll: true });
  }

  /** Focus the message nearest to one that had the focus and is no longer in the page. */
  #keepFocus(): void {
    const focused = this.#focused;
    const scroller = this.#scroller!;
    if (focused === undefined || document.activeElement !== document.body || scroller.article(focused)) return;
    const { articles, element } = scroller;
    const nearest = articles.find((each) => Number(each.dataset.messageId) >= focused) ?? articles.at(-1);
    (nearest ?? element).focus({ preventScroll: true });
  }

  /** Note which message has the focus. One that is removed with it remains noted. */
  #followFocus(element: HTMLElement): void {
    element.addEventListener("focusin", ({ target }) => {
      const article = (target as HTMLElement).closest<HTMLElement>("[data-message-id]");
      this.#focused = article ? Number(article.dataset.messageId) : undefined;
    });
    element.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget) this.#focused = undefined;
    });
  }

  #scheduleReading(): void {
    this.#readingTimer ??= window.setTimeout(() => {
      this.#readingTimer = undefined;
      if (this.#scroller?.element.isConnected) this.#readSeen();
    }, READING_DELAY_MS);
  }

  /** Mark what is seen as read, if the page is looked at. */
  #readSeen(): void {
    const { unread } = state();
    if (!unread.total || !this.feed.ids.some((id) => unread.has(id))) return;
    if (!isLookedAt()) this.#separateUnread();
    else if (marksAsRead(this.narrow) && !isHeld(keyOf(this.narrow))) markRead(this.#readIds());
  }

  /** Return what counts as read: what is seen, and at the end of a conversation all that led there. */
  #readIds(): readonly number[] {
    return this.isAtNewest && conversationOf(this.narrow) ? this.feed.ids : this.#scroller!.seen();
  }

  /** Let what arrives while nobody looks begin a new unread part, once the one before has been read. */
  #separateUnread(): void {
    const { unread } = state();
    const { ids } = this.feed;
    const first = this.#firstUnread;
    const isUnread = (id: number) => unread.has(id);
    const isLeft = first !== undefined && (first > this.#lastSeen || ids.some((id) => id >= first && id <= this.#lastSeen && isUnread(id)));
    if (!isLeft) this.#firstUnread = ids.find((id) => id > this.#lastSeen && isUnread(id)) ?? first;
  }
}

function isTyping(): boolean {
  const { activeElement } = document;
  return activeElement instanceof HTMLTextAreaElement || activeElement instanceof HTMLInputElement;
}
