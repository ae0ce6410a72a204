import { state } from "../../app";
import { keyOf, type Narrow, operandFor } from "../../model/narrow";
import { lazy } from "../../ui/lazy";
import { watch } from "../../ui/watch";

const PinnedMessages = lazy(async () => ({ default: (await import("./pinned-messages")).PinnedMessages }));

/** The pinned messages of a channel or a topic, at the top of its feed, if there are any. */
export function PinnedBar({ narrow }: { narrow: Narrow }) {
  watch("pins", "channels");
  const id = operandFor(narrow, "channel") as number;
  const topic = operandFor(narrow, "topic") as string | undefined;
  const isPlace = narrow.terms.length === (topic === undefined ? 1 : 2);
  const channel = isPlace ? state().channels.get(id) : undefined;
  const ids = channel && state().pinnedMessages.get(id);
  return ids ? <PinnedMessages key={keyOf(narrow)} channel={channel} topic={topic} ids={ids} /> : null;
}
