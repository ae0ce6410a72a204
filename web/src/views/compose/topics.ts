/** Names of a channel's topics, newest first: fetched when the user is about to name one. */

import { signal } from "@preact/signals";
import { state } from "../../app";
import { best, fold } from "../../model/names-index";
import { readsChannel } from "../../model/permissions";
import { get } from "../../protocol/client";

interface Known {
  names: string[];
  fetchedAt: number;
}

const FRESH_MS = 30_000;
const known = new Map<number, Known>();
const pending = new Set<number>();

/** Changes when topics were fetched. */
export const topicsVersion = signal(0);

/** Return the topics of a channel as far as they are known, and fetch them if they are not fresh. */
export function topicsOf(channelId: number): readonly string[] {
  const channel = state().channels.get(channelId);
  if (!channel || !readsChannel(state(), channel)) return [];
  const found = known.get(channelId);
  if ((!found || Date.now() - found.fetchedAt > FRESH_MS) && !pending.has(channelId)) void fetchTopics(channelId);
  return found?.names ?? [];
}

async function fetchTopics(channelId: number): Promise<void> {
  pending.add(channelId);
  try {
    const { topics } = await get<{ topics: { name: string }[] }>(`/users/me/${channelId}/topics`, { allow_empty_topic_name: true });
    known.set(channelId, { names: topics.map((each) => each.name), fetchedAt: Date.now() });
  } catch {
    // Suggestions are a help only: names can be typed without them.
    known.set(channelId, { names: known.get(channelId)?.names ?? [], fetchedAt: Date.now() });
  }
  pending.delete(channelId);
  topicsVersion.value = topicsVersion.peek() + 1;
}

/** Return the best topics for what is typed; the newest if nothing is. */
export function findTopics(channelId: number, query: string, limit: number): string[] {
  const names = topicsOf(channelId);
  if (!query) return names.slice(0, limit);
  const entries = names.map((item, index) => ({ item: { item, index }, folded: fold(item), also: "" }));
  return best(entries, fold(query), limit, (each) => -each.index).map((each) => each.item);
}
