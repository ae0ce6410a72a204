/** Whether a direct message conversation has begun: asked of the server where the state does not know. */

import { signal } from "@preact/signals";
import { state } from "../../app";
import { idsOfKey, type Message } from "../../model/state";
import { get } from "../../protocol/client";

const known = new Map<string, boolean>();
const version = signal(0);

/** Return whether there are messages; true until the server has answered, which decides anyway. */
export function hasConversation(key: string): boolean {
  if (state().conversations.has(key)) return true;
  version.value;
  const found = known.get(key);
  if (found === undefined) {
    known.set(key, true);
    void ask(key);
  }
  return found ?? true;
}

async function ask(key: string): Promise<void> {
  try {
    const { messages } = await get<{ messages: Message[] }>("/messages", {
      anchor: "newest",
      num_before: 1,
      num_after: 0,
      narrow: [{ operator: "dm", operand: idsOfKey(key) }],
    });
    known.set(key, messages.length > 0);
  } catch {
    known.delete(key);
    return;
  }
  version.value = version.peek() + 1;
}
