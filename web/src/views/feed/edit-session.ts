/** Messages that are being edited: their texts outlive the page's part of the feed. */

import { type Signal, signal } from "@preact/signals";
import { createRef } from "preact";
import { onBatch } from "../../app";
import { i18n } from "../../i18n";
import { get } from "../../protocol/client";
import { toast } from "../../ui/toast";
import { newKey } from "../compose/composition";
import { save } from "../compose/drafts";
import type { Target } from "../compose/target";
import { TextBox } from "../compose/textarea";

/** The edit of one message, from its beginning until it is saved or given up. */
export class EditSession {
  readonly text = signal("");
  /** The text as the server has it; undefined until it was fetched. */
  readonly original: Signal<string | undefined> = signal(undefined);
  readonly problem = signal("");
  readonly box = new TextBox(createRef<HTMLTextAreaElement>(), {
    read: () => this.text.peek(),
    write: (text) => (this.text.value = text),
    report: (problem) => (this.problem.value = problem),
  });

  /** Whether its field has had the focus. */
  isBegun = false;
  /** The conversation of the message, since the form was shown. */
  to: Target | undefined;

  constructor(readonly id: number) {}

  get isChanged(): boolean {
    return this.original.value !== undefined && this.text.value !== this.original.value;
  }

  /** Fetch the text. Rejects with an ApiError or a NetworkError. */
  async begin(): Promise<void> {
    const content = await sourceOf(this.id);
    this.text.value = content;
    this.original.value = content;
  }

  /** Take the text that the server has now for the one that is replaced. */
  async renew(): Promise<void> {
    this.original.value = await sourceOf(this.id).catch(() => this.original.peek());
  }
}

async function sourceOf(id: number): Promise<string> {
  const { message } = await get<{ message: { content: string } }>(`/messages/${id}`, {
    apply_markdown: false,
    allow_empty_topic_name: true,
  });
  return message.content;
}

const sessions = new Map<number, EditSession>();

// Edits are kept nowhere else: the browser asks before the page with them goes.
addEventListener("beforeunload", (event) => {
  if ([...sessions.values()].some((each) => each.isChanged)) event.preventDefault();
});

/** Return the edit of a message that is under way, or begin one. */
export function sessionOf(id: number): EditSession {
  let session = sessions.get(id);
  if (!session) sessions.set(id, (session = new EditSession(id)));
  return session;
}

// What was written for a message that is deleted meanwhile stays as a draft.
onBatch((events) => {
  for (const event of events) {
    if (event.type !== "delete_message") continue;
    for (const id of "message_ids" in event ? event.message_ids : [event.message_id]) {
      const session = sessions.get(id);
      if (!session) continue;
      endSession(session);
      if (!session.isChanged || !session.to || !session.text.peek().trim()) continue;
      save(newKey(), session.to, session.text.peek());
      toast(i18n.t("The message that you were editing was deleted. Your text is a draft now."), {
        link: { href: "#drafts", label: i18n.t("View drafts") },
      });
    }
  }
});

export function endSession({ id }: EditSession): void {
  sessions.delete(id);
}
