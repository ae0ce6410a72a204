/** The topics of channels, fetched when a channel is first looked at and kept current by events. */

import { ApiError, get, NetworkError } from "../protocol/client";
import type { Model } from "./model";
import type { ServerEvent } from "./events";
import { readsChannel } from "./permissions";
import { topicKey } from "./state";

const RETRY_MS = 5000;

export interface Topic {
  name: string;
  max_id: number;
}

export class Topics {
  #topics = new Map<number, Map<string, Topic>>();
  #isFetching = new Set<number>();

  constructor(private readonly model: Model) {}

  /** Return the topics of a channel, newest first; undefined while they are fetched. */
  of(channelId: number): Topic[] | undefined {
    const channel = this.model.state.channels.get(channelId);
    if (!channel || !readsChannel(this.model.state, channel)) return [];
    const topics = this.#topics.get(channelId);
    if (!topics) {
      void this.#fetch(channelId);
      return undefined;
    }
    return [...topics.values()].sort((one, other) => other.max_id - one.max_id);
  }

  /** Return the topics of a channel if they were fetched already, newest first. */
  known(channelId: number): Topic[] | undefined {
    return this.#topics.has(channelId) ? this.of(channelId) : undefined;
  }

  /** Forget everything: the state was registered anew. */
  reset(): void {
    this.#topics.clear();
  }

  /** Bring the topics up to date after a batch of events. */
  update(events: readonly ServerEvent[]): void {
    for (const event of events) {
      if (event.type === "message" && event.message.type === "stream") {
        const { stream_id, subject, id } = event.message;
        const topics = this.#topics.get(stream_id!);
        topics?.set(topicKey(stream_id!, subject), { name: subject, max_id: id });
      } else if (event.type === "update_message" && event.message_ids && (event.subject ?? event.new_stream_id) !== undefined) {
        this.#forget(event.stream_id!);
        if (event.new_stream_id !== undefined) this.#forget(event.new_stream_id);
      } else if (event.type === "delete_message" && event.message_type === "stream") {
        this.#forget(event.stream_id!);
      } else if (event.type === "stream" && event.op === "delete") {
        for (const id of event.stream_ids) this.#forget(id);
      }
    }
  }

  #forget(channelId: number): void {
    if (this.#topics.delete(channelId)) this.model.changes.mark(`topics:${channelId}`);
  }

  async #fetch(channelId: number): Promise<void> {
    if (this.#isFetching.has(channelId)) return;
    this.#isFetching.add(channelId);
    try {
      const { topics } = await get<{ topics: Topic[] }>(`/users/me/${channelId}/topics`, { allow_empty_topic_name: true });
      this.#topics.set(channelId, new Map(topics.map((each) => [topicKey(channelId, each.name), each])));
    } catch (error) {
      const isPassing = error instanceof NetworkError || (error instanceof ApiError && error.isTransient);
      if (isPassing) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      // One that may not be read has no topics to show.
      else this.#topics.set(channelId, new Map());
    } finally {
      this.#isFetching.delete(channelId);
    }
    // Where it is looked at still, this fetches again what is missing.
    this.model.changes.mark(`topics:${channelId}`);
    this.model.changes.flush();
  }
}
