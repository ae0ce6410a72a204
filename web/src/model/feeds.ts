/** Messages of a narrow, as far as they were fetched: one stretch without gaps. */

import { get } from "../protocol/client";
import type { Model } from "./model";
import { keyOf, type Narrow, type Term } from "./narrow";
import { directKey, type Message, type State } from "./state";
import { keepMessage, participantsKey } from "./reducers/messages";

const PAGE = 100;
const FIRST_PAGE = 50;
const MAX_FEEDS = 24;

interface MessagesAnswer {
  messages: Message[];
  anchor: number;
  found_anchor: boolean;
  found_oldest: boolean;
  found_newest: boolean;
  history_limited: boolean;
}

export class Feed {
  /** Ids in ascending order. */
  ids: number[] = [];
  anchor: number | undefined;
  foundOldest = false;
  foundNewest = false;
  isLoading = false;
  isLoaded = false;
  error: Error | undefined;

  constructor(readonly narrow: Narrow) {}
}

/** Fetches feeds, keeps the ones used last, and adds the messages that arrive. */
export class Feeds {
  #feeds = new Map<string, Feed>();

  constructor(private readonly model: Model) {}

  /** Return the feed of a narrow, and fetch its first page if it is new. */
  open(narrow: Narrow): Feed {
    const key = keyOf(narrow);
    const known = this.#feeds.get(key);
    const isUsable = known && (narrow.near === undefined || known.ids.includes(narrow.near));
    if (isUsable) {
      this.#feeds.delete(key);
      this.#feeds.set(key, known);
      known.anchor = narrow.near ?? known.anchor;
      return known;
    }
    const feed = new Feed(narrow);
    this.#feeds.set(key, feed);
    while (this.#feeds.size > MAX_FEEDS) this.#feeds.delete(this.#feeds.keys().next().value!);
    void this.#fetch(feed, narrow.near ?? "first_unread", FIRST_PAGE, FIRST_PAGE);
    return feed;
  }

  /** Forget what was fetched: the state was registered anew, and messages may be missing. */
  reset(): void {
    this.#feeds.clear();
    this.model.changes.mark("feeds");
    this.model.changes.flush();
  }

  loadOlder(feed: Feed): Promise<void> | undefined {
    if (feed.foundOldest || feed.isLoading || !feed.isLoaded) return undefined;
    return this.#fetch(feed, feed.ids[0] ?? "oldest", PAGE, 0);
  }

  loadNewer(feed: Feed): Promise<void> | undefined {
    if (feed.foundNewest || feed.isLoading || !feed.isLoaded) return undefined;
    return this.#fetch(feed, feed.ids.at(-1) ?? "newest", 0, PAGE);
  }

  retry(feed: Feed): void {
    feed.error = undefined;
    void this.#fetch(feed, feed.anchor ?? "first_unread", FIRST_PAGE, FIRST_PAGE);
  }

  /** Bring all feeds up to date after a batch of events. */
  update(arrived: readonly Message[]): void {
    const { state } = this.model;
    for (const feed of this.#feeds.values()) {
      feed.ids = feed.ids.filter((id) => {
        const message = state.messages.get(id);
        return message !== undefined && matches(message, feed.narrow.terms, state) !== false;
      });
      if (!feed.foundNewest) continue;
      for (const message of arrived) {
        if (matches(message, feed.narrow.terms, state) === true && !feed.ids.includes(message.id)) {
          feed.ids.push(message.id);
        }
      }
      feed.ids.sort((one, other) => one - other);
    }
  }

  async #fetch(feed: Feed, anchor: number | string, before: number, after: number): Promise<void> {
    const { model } = this;
    feed.isLoading = true;
    model.changes.mark("feeds");
    model.changes.flush();
    try {
      const answer = await get<MessagesAnswer>("/messages", {
        anchor: String(anchor),
        num_before: before,
        num_after: after,
        narrow: feed.narrow.terms.map((term) => ({ ...term })),
        allow_empty_topic_name: true,
        client_gravatar: false,
      });
      const ids = answer.messages.map((each) => keepMessage(model.state, each).id);
      feed.ids = [...new Set([...feed.ids, ...ids])].sort((one, other) => one - other);
      if (!feed.isLoaded) feed.anchor = answer.anchor;
      if (before) feed.foundOldest = answer.found_oldest;
      if (after) feed.foundNewest = answer.found_newest;
      feed.isLoaded = true;
      feed.error = undefined;
    } catch (error) {
      feed.error = error as Error;
    } finally {
      feed.isLoading = false;
      model.changes.mark("feeds");
      model.changes.flush();
    }
  }
}

/** Return whether a message belongs to a narrow; undefined where only the server can tell. */
export function matches(message: Message, terms: readonly Term[], state: State): boolean | undefined {
  let isCertain = true;
  for (const term of terms) {
    const found = matchesTerm(message, term, state);
    if (found === undefined) isCertain = false;
    else if (found === (term.negated ?? false)) return false;
  }
  return isCertain ? true : undefined;
}

function matchesTerm(message: Message, { operator, operand }: Term, state: State): boolean | undefined {
  const has = (flag: string) => message.flags.includes(flag);
  switch (operator) {
    case "channel":
      return message.type === "stream" && message.stream_id === operand;
    case "topic":
      return message.type === "stream" && message.subject.toLowerCase() === String(operand).toLowerCase();
    case "dm":
      return (
        message.type === "private" &&
        Array.isArray(operand) &&
        participantsKey(message, state.userId) === directKey(operand, state.userId)
      );
    case "sender":
      return typeof operand === "number" ? message.sender_id === operand : undefined;
    case "id":
      return message.id === operand;
    case "is":
      if (operand === "dm" || operand === "private") return message.type === "private";
      if (operand === "starred" || operand === "mentioned") {
        return operand === "starred" ? has("starred") : ["mentioned", "stream_wildcard_mentioned", "topic_wildcard_mentioned"].some(has);
      }
      return undefined;
    default:
      return undefined;
  }
}
