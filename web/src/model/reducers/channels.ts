import type { Changes } from "../changes";
import type { EventOf } from "../events";
import { type State, topicKey, unsubscribed } from "../state";
import { recountMentions } from "./messages";
import { forgetPins } from "./pins";
import { forgetDescriptions } from "./topic-descriptions";
import type { Reducers } from "./reducer";

function stream(state: State, event: EventOf<"stream">, changes: Changes): void {
  changes.mark("channels");
  if (event.op === "create") {
    for (const each of event.streams) state.channels.set(each.stream_id, { ...each, is_subscribed: false });
  } else if (event.op === "delete") {
    for (const id of event.stream_ids) forget(state, id, changes);
  } else if (event.op === "update") {
    const channel = state.channels.get(event.stream_id);
    if (!channel) return;
    const { property, value, rendered_description, history_public_to_subscribers, is_web_public } = event;
    Object.assign(channel, known({ [property]: value, rendered_description, history_public_to_subscribers, is_web_public }));
    if (property === "name") rename(state, event.stream_id, String(value), changes);
  }
}

/** Return the fields that have a value. */
function known(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Forget the messages of a channel, of which no event has told for a time: they are fetched again. */
function forgetMessages(state: State, id: number, changes: Changes): void {
  for (const message of state.messages.values()) {
    if (message.stream_id !== id) continue;
    state.messages.delete(message.id);
    changes.mark("feeds", `message:${message.id}`);
  }
}

/** Forget a channel that is gone or may not be seen any more, and its messages. */
function forget(state: State, id: number, changes: Changes): void {
  state.channels.delete(id);
  forgetMessages(state, id, changes);
  for (const [key, policy] of state.topicPolicies) if (policy.stream_id === id) state.topicPolicies.delete(key);
  changes.mark("topicPolicies", `topics:${id}`);
}

function rename(state: State, id: number, name: string, changes: Changes): void {
  changes.mark("bodies");
  for (const message of state.messages.values()) {
    if (message.stream_id !== id) continue;
    message.display_recipient = name;
    changes.mark(`message:${message.id}`);
  }
}

function subscription(state: State, event: EventOf<"subscription">, changes: Changes): void {
  changes.mark("channels");
  switch (event.op) {
    case "add":
      // Who is in a channel is fetched where it is shown: events have the list all the same.
      for (const { subscribers: _, ...each } of event.subscriptions) {
        if (!state.channels.get(each.stream_id)?.is_subscribed) forgetMessages(state, each.stream_id, changes);
        state.channels.set(each.stream_id, { ...each, is_subscribed: true });
      }
      break;
    case "remove":
      for (const each of event.subscriptions) {
        const channel = state.channels.get(each.stream_id);
        if (channel) state.channels.set(each.stream_id, unsubscribed(channel));
        forgetPins(state, each.stream_id, changes);
        forgetDescriptions(state, each.stream_id, changes);
      }
      break;
    case "update": {
      const channel = state.channels.get(event.stream_id);
      if (!channel) return;
      Object.assign(channel, { [event.property]: event.value });
      if (event.property === "is_muted") {
        Object.assign(channel, { in_home_view: !event.value });
        recountMentions(state, changes, event.stream_id);
      }
      break;
    }
    case "peer_add":
    case "peer_remove":
      for (const id of event.stream_ids) {
        const channel = state.channels.get(id);
        if (channel) channel.subscriber_count += (event.op === "peer_add" ? 1 : -1) * event.user_ids.length;
      }
      break;
  }
}

function userTopic(state: State, event: EventOf<"user_topic">, changes: Changes): void {
  changes.mark("topicPolicies", `topics:${event.stream_id}`);
  const key = topicKey(event.stream_id, event.topic_name);
  if (event.visibility_policy === 0) state.topicPolicies.delete(key);
  else {
    state.topicPolicies.set(key, {
      stream_id: event.stream_id,
      topic_name: event.topic_name,
      visibility_policy: event.visibility_policy,
      last_updated: event.last_updated,
    });
  }
  recountMentions(state, changes, event.stream_id, event.topic_name);
}

function channelFolder(state: State, event: EventOf<"channel_folder">, changes: Changes): void {
  changes.mark("folders");
  if (event.op === "add") state.folders.set(event.channel_folder.id, event.channel_folder);
  else if (event.op === "update") {
    Object.assign(state.folders.get(event.channel_folder_id) ?? {}, event.data);
  } else if (event.op === "reorder") {
    event.order.forEach((id, index) => {
      const folder = state.folders.get(id);
      if (folder) folder.order = index;
    });
  }
}

export const channelReducers: Reducers = {
  stream,
  subscription,
  user_topic: userTopic,
  channel_folder: channelFolder,
};
