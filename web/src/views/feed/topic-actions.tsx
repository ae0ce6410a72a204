/** Actions on a topic as a whole. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { isResolved, RESOLVED_PREFIX, topicName } from "../../model/names";
import { topicNarrow } from "../../model/narrow";
import { type Channel, type Message, Policy } from "../../model/state";
import { get, patch, post } from "../../protocol/client";
import { confirm, openDialog } from "../../ui/dialog";
import type { IconName } from "../../ui/icons";
import { load } from "../../ui/lazy";
import type { MenuItem } from "../../ui/menu";
import { attempt } from "../../ui/toast";

/** Return the items that choose what the user is notified of. */
export function policyItems(channel: Channel, topic: string, policy: number): MenuItem[] {
  const choose = (value: number, name: string, icon: IconName): MenuItem => ({
    name,
    icon,
    isChecked: policy === value,
    onSelect: () =>
      void attempt(() => post("/user_topics", { stream_id: channel.stream_id, topic, visibility_policy: value })),
  });
  return [
    choose(Policy.FOLLOWED, i18n.t("Follow"), "bell"),
    ...(channel.is_muted ? [choose(Policy.UNMUTED, i18n.t("Unmute"), "topic")] : []),
    choose(Policy.INHERIT, i18n.t("Same as the channel"), "hash"),
    choose(Policy.MUTED, i18n.t("Mute"), "mute"),
  ];
}

/** Return the newest message of a topic, which stands for it in requests. Rejects where there is none. */
async function newestOf(channel: Channel, topic: string): Promise<Message> {
  const { messages } = await get<{ messages: Message[] }>("/messages", {
    anchor: "newest",
    num_before: 1,
    num_after: 0,
    narrow: topicNarrow(channel.stream_id, topic).terms.map((term) => ({ ...term })),
    allow_empty_topic_name: true,
    client_gravatar: false,
  });
  const newest = messages.at(-1);
  if (!newest) throw new Error(i18n.t("There are no messages in this topic."));
  return newest;
}

/** Resolve a topic, or open it again: it is renamed, from its newest message. */
export async function toggleResolved(channel: Channel, topic: string): Promise<void> {
  await attempt(async () => {
    const newest = await newestOf(channel, topic);
    await patch(`/messages/${newest.id}`, {
      topic: isResolved(topic) ? topic.replace(/^(✔ )+/u, "") : RESOLVED_PREFIX + topic,
      propagate_mode: "change_all",
      send_notification_to_old_thread: false,
      send_notification_to_new_thread: true,
    });
  });
}

/** Ask for another name of a topic, or for another place as well. */
export function openMoveTopic(channel: Channel, topic: string, scope: "name" | "place"): void {
  void attempt(async () => {
    const [newest, MoveDialog] = await Promise.all([
      newestOf(channel, topic),
      load(async () => (await import("./dialogs/move")).MoveDialog),
    ]);
    openDialog((close) => <MoveDialog message={newest} scope={scope} onClose={close} />);
  });
}

/** Delete all messages of a topic, after a confirmation. */
export async function deleteTopic(channel: Channel, topic: string): Promise<void> {
  const isSure = await confirm({
    title: i18n.t("Delete the topic {topic}?", { topic: topicName(state(), topic) }),
    text: i18n.t("All its messages are gone for all who can read them. This cannot be undone."),
    action: i18n.t("Delete"),
    isDangerous: true,
  });
  if (!isSure) return;
  await attempt(async () => {
    // Of a large topic each request deletes a part.
    for (let isComplete = false; !isComplete; ) {
      const answer = await post<{ complete: boolean }>(`/streams/${channel.stream_id}/delete_topic`, { topic_name: topic });
      isComplete = answer.complete;
    }
  });
}
