import { state } from "../../app";
import { conversationOf, type Narrow } from "../../model/narrow";
import { topicKey } from "../../model/state";
import { lazy } from "../../ui/lazy";
import { watch } from "../../ui/watch";

const TopicDescription = lazy(() => import("./topic-description"));

/** The description of a topic, at the top of its feed, if it has one. */
export function TopicDescriptionBar({ narrow }: { narrow: Narrow }) {
  watch("topicDescriptions");
  const here = conversationOf(narrow);
  const described = here?.kind === "topic" ? state().topicDescriptions.get(topicKey(here.channelId, here.topic)) : undefined;
  return described ? <TopicDescription key={described.rendered_description} html={described.rendered_description} /> : null;
}
