import type { Changes } from "../changes";
import { type Channel, type State, topicKey } from "../state";
import type { Reducer, ServerEvent } from ".";

function stream(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("channels");
  if (event.op === "create") {
    for (const each of event.streams) {
      state.channels.set(each.stream_id, { ...state.channels.get(each.stream_id), ...each, is_subscribed: state.channels.get(each.stream_id)?.is_subscribed ?? false });
    }
  } else if (event.op === "delete") {
    for (const id of event.stream_ids ?? event.streams.map((each: Channel) => each.stream_id)) state.channels.delete(id);
  } else if (event.op === "update") {
    const channel = state.channels.get(event.stream_id) as Record<string, any> | undefined;
    if (!channel) return;
    channel[event.property] = event.value;
    if (event.property === "description") channel.rendered_description = event.rendered_description;
    if (event.history_public_to_subscribers !== undefined) {
      channel.history_public_to_subscribers = event.history_public_to_subscribers;
    }
    if (event.is_web_public !== undefined) channel.is_web_public = event.is_web_public;
  }
}

function subscription(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("channels");
  switch (event.op) {
    case "add":
      for (const each of event.subscriptions) state.channels.set(each.stream_id, { ...each, is_subscribed: true });
      break;
    case "remove":
      for (const each of event.subscriptions) {
        const channel = state.channels.get(each.stream_id);
        if (channel) channel.is_subscribed = false;
      }
      break;
    case "update": {
      const channel = state.channels.get(event.stream_id) as Record<string, any> | undefined;
      if (!channel) return;
      channel[event.property] = event.value;
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

function userTopic(state: State, event: ServerEvent, changes: Changes): void {
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
}

function channelFolder(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("folders");
  if (event.op === "add") state.folders.set(event.channel_folder.id, event.channel_folder);
  else if (event.op === "update") {
    Object.assign(state.folders.get(event.channel_folder_id) ?? {}, event.data);
  } else if (event.op === "reorder") {
    event.order.forEach((id: number, index: number) => {
      const folder = state.folders.get(id);
      if (folder) folder.order = index;
    });
  }
}

export const channelReducers: Record<string, Reducer> = {
  stream,
  subscription,
  user_topic: userTopic,
  channel_folder: channelFolder,
};
