import { directNarrow, type Narrow, topicNarrow } from "./narrow";
import { othersOf } from "./names";
import type { Message, State } from "./state";

/** Return the narrow of a message's conversation, near a message of it if one is given. */
export function narrowOfMessage(state: State, message: Message, near?: number): Narrow {
  return message.type === "stream"
    ? topicNarrow(message.stream_id!, message.subject, near)
    : directNarrow(othersOf(state, message), near);
}
