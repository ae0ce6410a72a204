/** Messages of narrows, as far as they were fetched: each one stretch of history without gaps. */

import { get, NetworkError } from "../protocol/client";
import type { Json } from "../protocol/json";
import { hasLeft, matches } from "./matching";
import type { Model } from "./model";
import { keyOf, type Narrow, operandFor } from "./narrow";
import type { EventOf, ServerEvent } from "./events";
import { readsChannel } from "./permissions";
import { keepMessage } from "./reducers/messages";
import type { Message, State } from "./state";

export { matches } from "./matching";

const PAGE = 100;
const FIRST_PAGE = 50;
const MAX_FEEDS = 24;
/** Ids that a feed holds: what is further away is fetched again. */
const MAX_IDS = 3000;
/** Messages kept that no feed has: other views may show some of them. */
const MAX_LOOSE_MESSAGES = 4000;
/** After how many new messages it is looked again whether there are too many. */
const SWEEP_EVERY = 1000;
/** Arrived messages that a fetch under way may have missed. */
const MAX_RECENT = 500;
/** After how long what is shown is fetched again, if the server could not be reached. */
const RETRY_MS = 5_000;
const MAX_IDS_OF_A_REQUEST = 1000;

/** A narrow is of a channel that the user may not read: the server, which would refuse, is not asked. */
export class HiddenChannelError extends Error {
  constructor(
    /** Whether the user sees that there is the channel. */
    readonly isNamed: boolean,
  ) {
    super();
  }
}

interface MessagesAnswer {
  messages: Message[];
  anchor: number;
  found_anchor: boolean;
  found_oldest: boolean;
  found_newest: boolean;
  history_limited: boolean;
  position?: number;
}

/** The first messages of a narrow, asked for while the state is registered. */
export interface Ahead {
  narrow: Narrow;
  answer: Promise<MessagesAnswer>;
}

/**
 * Ask for the first messages of a narrow before there is a state.
 *
 * Returns undefined if that depends on who asks: what spectators may read is asked for otherwise.
 */
export function askAhead(narrow: Narrow): Ahead | undefined {
  const isSame = narrow.terms.some(({ operator, negated }) => !negated && ["channel", "dm", "is"].includes(operator));
  if (!isSame) return undefined;
  const answer = getMessages(narrow, narrow.near ?? "first_unread", FIRST_PAGE, FIRST_PAGE, { include_position: true });
  // Whether the page can do without is found out when the messages are shown.
  answer.catch(() => undefined);
  return { narrow, answer };
}

/**
 * Return whether messages are as new as the state was when it was registered.
 *
 * The queue has all that has happened to them since. What was changed before the queue began and
 * after they were read, no event tells of.
 */
export function isRecent({ position = -1 }: Pick<MessagesAnswer, "position">, state: State): boolean {
  return position >= state.position;
}

function getMessages(narrow: Narrow, anchor: number | string, before: number, after: number, more: Record<string, Json> = {}, isSpectator = false) {
  return get<MessagesAnswer>("/messages", {
    ...FORMAT,
    anchor: String(anchor),
    num_before: before,
    num_after: after,
    narrow: wireTerms(narrow, isSpectator),
    ...more,
  });
}

export interface Match {
  content: string;
  marked: string;
}

type Loading = "first" | "older" | "newer";

export class Feed {
  /** Ids in ascending order. */
  ids: number[] = [];
  /** The first unread message, or the one of the address, when it was fetched. */
  anchor: number | undefined;
  foundOldest = false;
  foundNewest = false;
  loading: Loading | undefined;
  isLoaded = false;
  error: Error | undefined;
  /** Counts first fetches: an answer to a request before the last one is of another stretch. */
  stretch = 0;
  /** Whether events were missed: what was fetched before them does not reach to those that come. */
  isStale = false;
  /** Where it was scrolled to when it was left: a message, and its distance from the top. */
  place: { id: number; top: number; isAtEnd: boolean } | undefined;

  /** The contents of messages, and the same with what was searched for marked: of this search alone. */
  matches = new Map<number, Match>();

  constructor(
    readonly narrow: Narrow,
    readonly serial: number,
  ) {}

  get isLoading(): boolean {
    return this.loading !== undefined;
  }

  has(id: number): boolean {
    return this.ids[lowerBound(this.ids, id)] === id;
  }
}

/** Fetches feeds, keeps the ones used last, and adds the messages that arrive. */
export class Feeds {
  #feeds = new Map<string, Feed>();
  #recent: number[] = [];
  #serial = 0;
  /** With how many messages those that no feed has are counted again. */
  #sweepAt = MAX_LOOSE_MESSAGES + SWEEP_EVERY;

  constructor(
    private readonly model: Model,
    private ahead?: Ahead,
  ) {}

  /** Return the feed of a narrow, and fetch its first page if it is new. */
  open(narrow: Narrow): Feed {
    const key = keyOf(narrow);
    const known = this.#feeds.get(key);
    const { near } = narrow;
    if (known && (near === undefined || known.has(near) || known.loading === "first" || known.narrow.near === near)) {
      this.#feeds.delete(key);
      this.#feeds.set(key, known);
      return known;
    }
    const feed = new Feed(narrow, this.#serial++);
    this.#feeds.delete(key);
    this.#feeds.set(key, feed);
    this.#dropFeeds();
    void this.#fetchFirst(feed, near ?? "first_unread");
    return feed;
  }

  /**
   * Fetch what is shown again: the state was registered anew, and events were missed.
   *
   * The feed used last keeps its messages until the fresh ones are here; the others are dropped.
   */
  reset(previous?: State): void {
    const [key, shown] = [...this.#feeds].at(-1) ?? [];
    this.#feeds.clear();
    this.#sweepAt = MAX_LOOSE_MESSAGES + SWEEP_EVERY;
    if (key !== undefined && shown?.isLoaded && previous) {
      this.#feeds.set(key, shown);
      for (const id of shown.ids) {
        const message = previous.messages.get(id);
        if (message) keepMessage(this.model.state, message);
      }
      const wasAtEnd = shown.foundNewest && (shown.place?.isAtEnd ?? true);
      shown.isStale = true;
      shown.foundNewest = false;
      void this.#fetchFirst(shown, wasAtEnd ? "newest" : (shown.place?.id ?? shown.ids.at(-1) ?? "first_unread"));
    }
    this.#announce();
  }

  loadOlder(feed: Feed): Promise<void> | undefined {
    if (feed.foundOldest || feed.isLoading || !feed.isLoaded || feed.error) return undefined;
    return this.#fetch(feed, "older", feed.ids[0] ?? "oldest", PAGE, 0);
  }

  loadNewer(feed: Feed): Promise<void> | undefined {
    if (feed.foundNewest || feed.isLoading || !feed.isLoaded || feed.error) return undefined;
    return this.#fetch(feed, "newer", feed.ids.at(-1) ?? "newest", 0, PAGE);
  }

  /** Make the feed reach to its newest message. What lies between is fetched when it is shown. */
  async loadNewest(feed: Feed): Promise<void> {
    if (!feed.foundNewest) await this.#fetchFirst(feed, "newest");
  }

  /** Make the feed reach to its oldest message. */
  async loadOldest(feed: Feed): Promise<void> {
    if (!feed.foundOldest) await this.#fetchFirst(feed, "oldest");
  }

  retry(feed: Feed): void {
    feed.error = undefined;
    if (!feed.isLoaded) void this.#fetchFirst(feed, feed.narrow.near ?? "first_unread");
    else if (feed.isStale) void this.#fetchFirst(feed, (feed.place?.isAtEnd ?? true) ? "newest" : feed.place!.id);
    else this.#announce();
  }

  /** Fetch again what could not be fetched: the connection is back. */
  retryFailed(): void {
    for (const feed of this.#feeds.values()) if (feed.error instanceof NetworkError) this.retry(feed);
  }

  /** Bring all feeds up to date after a batch of events was applied. */
  follow(events: readonly ServerEvent[]): void {
    const arrived = events.filter((each) => each.type === "message").map((each) => each.message.id);
    const moves = events.filter((each) => each.type === "update_message").filter(isMove);
    const hidden = events.flatMap((each) => (each.type === "stream" && each.op === "delete" ? each.stream_ids : []));
    for (const feed of hidden.length ? [...this.#feeds.values()] : []) {
      // What happens there until it is seen again is not known.
      if (hidden.includes(operandFor(feed.narrow, "channel") as number)) this.#drop(feed);
    }
    if (events.some((each) => each.type === "pinned_messages")) {
      for (const feed of [...this.#feeds.values()]) if (operandFor(feed.narrow, "is") === "pinned") this.#drop(feed);
    }
    const hasJoined = events.some((each) => each.type === "subscription" && each.op === "add");
    const isIncomplete = hasJoined && [...this.#feeds.values()].some((feed) => this.#lacksMessages(feed));
    const isShorter = moves.length + hidden.length > 0 || events.some((each) => each.type === "delete_message");
    if (isShorter) for (const feed of this.#feeds.values()) this.#removeGone(feed);
    this.#add(arrived);
    for (const event of moves) void this.#followMove(event);
    if (isIncomplete) this.reset(this.model.state);
    this.#retryShownAgain();
    this.#sweep();
  }

  /** Fetch what could not be asked for before, as its channel is seen now. */
  #retryShownAgain(): void {
    for (const feed of this.#feeds.values()) {
      if (feed.error instanceof HiddenChannelError && !this.#refusal(feed.narrow)) this.retry(feed);
    }
  }

  /** Return why the server is not asked for a narrow; undefined where it is. */
  #refusal(narrow: Narrow): HiddenChannelError | undefined {
    const channelId = operandFor(narrow, "channel");
    if (typeof channelId !== "number") return undefined;
    const channel = this.model.state.channels.get(channelId);
    return channel && readsChannel(this.model.state, channel) ? undefined : new HiddenChannelError(channel !== undefined);
  }

  /** Return whether messages of a feed were forgotten, as the user has joined their channel again. */
  #lacksMessages(feed: Feed): boolean {
    return feed.ids.some((id) => !this.model.state.messages.has(id));
  }

  /** Add new messages, which the state has, to the feeds that they belong to. */
  update(arrived: readonly Message[]): void {
    this.#add(arrived.map((each) => each.id));
  }

  #add(arrived: readonly number[]): void {
    if (!arrived.length) return;
    this.#recent = [...this.#recent, ...arrived].slice(-MAX_RECENT);
    for (const feed of this.#feeds.values()) if (feed.foundNewest) this.#addArrived(feed, arrived);
  }

  #removeGone(feed: Feed): void {
    const { state } = this.model;
    feed.ids = feed.ids.filter((id) => {
      const message = state.messages.get(id);
      return message !== undefined && !hasLeft(message, feed.narrow.terms, state);
    });
  }

  #addArrived(feed: Feed, ids: readonly number[]): void {
    const { state } = this.model;
    const uncertain: number[] = [];
    for (const id of ids) {
      const message = state.messages.get(id);
      const found = message && matches(message, feed.narrow.terms, state);
      if (found) insert(feed.ids, id);
      else if (found === undefined && message) uncertain.push(id);
    }
    if (feed.ids.length > MAX_IDS && (feed.place?.isAtEnd ?? true)) this.#trim(feed, "older");
    if (uncertain.length) void this.#ask(feed, uncertain);
  }

  /** Ask the server which messages belong to a feed, and add them. */
  async #ask(feed: Feed, ids: number[]): Promise<void> {
    const { state } = this.model;
    try {
      const { messages } = await get<{ messages: Record<string, { match_content: string; match_subject: string }> }>(
        "/messages/matches_narrow",
        { msg_ids: ids, narrow: wireTerms(feed.narrow, !this.model.state.userId) },
      );
      for (const id of Object.keys(messages).map(Number)) {
        if (state.messages.has(id)) insert(feed.ids, id);
      }
      this.#announce();
    } catch {
      // It is incomplete at its end now: what is missing is fetched when the user scrolls there.
      feed.foundNewest = false;
    }
  }

  /** Add moved messages to the feeds of the place they were moved to. */
  async #followMove(event: EventOf<"update_message">): Promise<void> {
    const { state } = this.model;
    const ids = event.message_ids;
    const targets = [...this.#feeds.values()].filter((feed) => mayHold(feed.narrow, event));
    if (!targets.length) return;
    const missing = ids.filter((id) => !state.messages.has(id)).slice(-MAX_IDS_OF_A_REQUEST);
    if (missing.length) {
      try {
        const answer = await get<MessagesAnswer>("/messages", { ...FORMAT, message_ids: missing });
        for (const each of answer.messages) keepMessage(state, each);
      } catch {
        for (const feed of targets) this.#drop(feed);
        return;
      }
    }
    for (const feed of targets) {
      for (const id of ids) {
        const message = state.messages.get(id);
        if (message && covers(feed, id) && matches(message, feed.narrow.terms, state)) insert(feed.ids, id);
      }
    }
    this.#announce();
  }

  #drop(feed: Feed): void {
    const key = keyOf(feed.narrow);
    if (this.#feeds.get(key) === feed) this.#feeds.delete(key);
    this.#announce();
  }

  async #fetchFirst(feed: Feed, anchor: number | "first_unread" | "newest" | "oldest"): Promise<void> {
    await this.#fetch(feed, "first", anchor, FIRST_PAGE, FIRST_PAGE);
  }

  async #fetch(feed: Feed, loading: Loading, anchor: number | string, before: number, after: number): Promise<void> {
    const refusal = this.#refusal(feed.narrow);
    if (refusal) {
      feed.error = refusal;
      this.#announce();
      return;
    }
    if (loading === "first") feed.stretch += 1;
    const { stretch } = feed;
    feed.loading = loading;
    feed.error = undefined;
    this.#announce();
    try {
      const answer = (await this.#takeAhead(feed)) ?? (await getMessages(feed.narrow, anchor, before, after, {}, !this.model.state.userId));
      if (feed.stretch === stretch) this.#accept(feed, loading, answer);
    } catch (error) {
      if (feed.stretch !== stretch) return;
      feed.error = error as Error;
      if (error instanceof NetworkError) setTimeout(() => this.#retryShown(feed), RETRY_MS);
    } finally {
      if (feed.stretch === stretch) {
        feed.loading = undefined;
        this.#announce();
      }
    }
  }

  /** Return the answer that was asked for ahead, if it is of the feed and of use. */
  async #takeAhead(feed: Feed): Promise<MessagesAnswer | undefined> {
    const { ahead } = this;
    this.ahead = undefined;
    if (!ahead || keyOf(ahead.narrow) !== keyOf(feed.narrow) || ahead.narrow.near !== feed.narrow.near) return undefined;
    const answer = await ahead.answer.catch(() => undefined);
    return answer && isRecent(answer, this.model.state) ? answer : undefined;
  }

  #retryShown(feed: Feed): void {
    if (feed.error instanceof NetworkError && [...this.#feeds.values()].at(-1) === feed) this.retry(feed);
  }

  #accept(feed: Feed, loading: Loading, answer: MessagesAnswer): void {
    const ids = answer.messages.map(({ match_content: marked, match_subject, ...message }) => {
      if (marked !== undefined) feed.matches.set(message.id, { content: message.content, marked });
      return keepMessage(this.model.state, message).id;
    });
    if (loading === "first") {
      feed.ids = ids.sort((one, other) => one - other);
      feed.anchor = answer.anchor;
      feed.isLoaded = true;
      feed.isStale = false;
    } else for (const id of ids) insert(feed.ids, id);
    if (loading !== "newer") feed.foundOldest = answer.found_oldest;
    if (loading !== "older") {
      feed.foundNewest = answer.found_newest;
      if (feed.foundNewest) this.#addArrived(feed, this.#recent.filter((id) => id > (ids.at(-1) ?? 0)));
    }
    this.#trim(feed, loading === "older" ? "newer" : "older");
    this.#sweep();
  }

  /** Drop ids at one end of a feed that has too many. */
  #trim(feed: Feed, end: "older" | "newer"): void {
    const excess = feed.ids.length - MAX_IDS;
    if (excess <= 0) return;
    if (end === "older") {
      feed.ids.splice(0, excess);
      feed.foundOldest = false;
    } else {
      feed.ids.splice(MAX_IDS);
      feed.foundNewest = false;
    }
  }

  #dropFeeds(): void {
    while (this.#feeds.size > MAX_FEEDS) {
      const [key] = this.#feeds.keys();
      this.#feeds.delete(key!);
    }
  }

  /** Forget the messages kept longest that no feed has, where there are too many of them. */
  #sweep(): void {
    const { messages } = this.model.state;
    if (messages.size < this.#sweepAt) return;
    const held = new Set<number>();
    for (const { ids } of this.#feeds.values()) for (const id of ids) held.add(id);
    const loose = [...messages.keys()].filter((id) => !held.has(id));
    for (const id of loose.slice(0, -MAX_LOOSE_MESSAGES)) messages.delete(id);
    this.#sweepAt = messages.size + SWEEP_EVERY;
  }

  #announce(): void {
    this.model.changes.mark("feeds");
    this.model.changes.flush();
  }
}

const FORMAT = { allow_empty_topic_name: true, client_gravatar: false, message_buttons: true } as const;
const NOT_MUTED = [{ operator: "is", operand: "muted", negated: true }];

/** What spectators may read; their narrows name this, or a channel. */
const WEB_PUBLIC = { operator: "channels", operand: "web-public" };

/** Return the terms as the server takes them. The combined feed is without what is muted. */
export function wireTerms({ terms }: Narrow, isSpectator = false): Json {
  if (isSpectator && !terms.some((term) => term.operator === "channel" && !term.negated)) return [...terms.map((term) => ({ ...term })), WEB_PUBLIC];
  return terms.length ? terms.map((term) => ({ ...term })) : NOT_MUTED;
}

function isMove(event: EventOf<"update_message">): boolean {
  return event.subject !== undefined || event.new_stream_id !== undefined;
}

/** Return whether moved messages may have come into a narrow. */
function mayHold(narrow: Narrow, event: EventOf<"update_message">): boolean {
  const channelId = event.new_stream_id ?? event.stream_id;
  const topic = String(event.subject ?? event.orig_subject).toLowerCase();
  return narrow.terms.every(({ operator, operand, negated }) => {
    if (negated) return true;
    if (operator === "channel") return operand === channelId;
    if (operator === "topic") return String(operand).toLowerCase() === topic;
    return operator !== "dm";
  });
}

/** Return whether an id lies within the stretch that a feed has fetched. */
function covers(feed: Feed, id: number): boolean {
  const isAfterStart = feed.foundOldest || (feed.ids.length > 0 && id > feed.ids[0]!);
  const isBeforeEnd = feed.foundNewest || (feed.ids.length > 0 && id < feed.ids.at(-1)!);
  return isAfterStart && isBeforeEnd;
}

/** Return the index of the first id that is not less than the one given. */
export function lowerBound(ids: readonly number[], id: number): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Insert an id into ascending ids, once. */
function insert(ids: number[], id: number): void {
  const last = ids.at(-1);
  if (last === undefined || last < id) ids.push(id);
  else {
    const index = lowerBound(ids, id);
    if (ids[index] !== id) ids.splice(index, 0, id);
  }
}
