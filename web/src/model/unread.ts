/** Unread messages: which, in which conversation, and which of them mention the user. */

import { directKey, topicKey } from "./state";

export type Place =
  | { kind: "topic"; channelId: number; topic: string }
  | { kind: "direct"; key: string };

interface UnreadMessages {
  pms: { other_user_id: number; unread_message_ids: number[] }[];
  huddles: { user_ids_string: string; unread_message_ids: number[] }[];
  streams: { stream_id: number; topic: string; unread_message_ids: number[] }[];
  mentions: number[];
  old_unreads_missing: boolean;
}

export class Unread {
  readonly places = new Map<number, Place>();
  readonly mentions = new Set<number>();
  /** Unread messages of a topic, by channel and then by `topicKey`. */
  readonly topics = new Map<number, Map<string, { topic: string; ids: Set<number> }>>();
  /** Unread messages of a direct message conversation, by `directKey`. */
  readonly directs = new Map<string, Set<number>>();
  isIncomplete = false;

  static of(given: UnreadMessages | undefined, self: number): Unread {
    const unread = new Unread();
    if (!given) return unread;
    for (const { stream_id, topic, unread_message_ids } of given.streams) {
      for (const id of unread_message_ids) unread.add(id, { kind: "topic", channelId: stream_id, topic });
    }
    for (const { other_user_id, unread_message_ids } of given.pms) {
      const key = directKey([other_user_id], self);
      for (const id of unread_message_ids) unread.add(id, { kind: "direct", key });
    }
    for (const { user_ids_string, unread_message_ids } of given.huddles) {
      const key = directKey(user_ids_string.split(",").map(Number), self);
      for (const id of unread_message_ids) unread.add(id, { kind: "direct", key });
    }
    for (const id of given.mentions) unread.mentions.add(id);
    unread.isIncomplete = given.old_unreads_missing;
    return unread;
  }

  get total(): number {
    return this.places.size;
  }

  has(id: number): boolean {
    return this.places.has(id);
  }

  add(id: number, place: Place): void {
    this.remove(id, true);
    this.places.set(id, place);
    if (place.kind === "direct") {
      const ids = this.directs.get(place.key) ?? new Set();
      this.directs.set(place.key, ids.add(id));
      return;
    }
    const topics = this.topics.get(place.channelId) ?? new Map();
    const key = topicKey(place.channelId, place.topic);
    const entry = topics.get(key) ?? { topic: place.topic, ids: new Set() };
    entry.ids.add(id);
    topics.set(key, entry);
    this.topics.set(place.channelId, topics);
  }

  /** Remove a message; returns whether it was there. */
  remove(id: number, keepMention = false): boolean {
    if (!keepMention) this.mentions.delete(id);
    const place = this.places.get(id);
    if (!place) return false;
    this.places.delete(id);
    if (place.kind === "direct") {
      const ids = this.directs.get(place.key);
      ids?.delete(id);
      if (!ids?.size) this.directs.delete(place.key);
      return true;
    }
    const topics = this.topics.get(place.channelId);
    const key = topicKey(place.channelId, place.topic);
    const entry = topics?.get(key);
    entry?.ids.delete(id);
    if (!entry?.ids.size) topics?.delete(key);
    if (!topics?.size) this.topics.delete(place.channelId);
    return true;
  }

  inTopic(channelId: number, topic: string): ReadonlySet<number> {
    return this.topics.get(channelId)?.get(topicKey(channelId, topic))?.ids ?? NONE;
  }

  inDirect(key: string): ReadonlySet<number> {
    return this.directs.get(key) ?? NONE;
  }
}

const NONE: ReadonlySet<number> = new Set();
