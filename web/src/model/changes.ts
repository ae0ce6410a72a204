/**
 * Names of parts of the state, and who listens to their changes.
 *
 * A reducer marks what it has changed; after a batch of events each listener is called once. The
 * model knows no framework: `ui/watch.ts` makes signals of this.
 */

export type Part =
  | "realm"
  | "users"
  | "groups"
  | "channels"
  | "folders"
  | "topicPolicies"
  | "pins"
  | "topicDescriptions"
  | "unread"
  | "settings"
  | "presence"
  | "statuses"
  | "typing"
  | "mutedUsers"
  | "alertWords"
  | "starred"
  | "drafts"
  | "scheduled"
  | "reminders"
  | "snippets"
  | "linkifiers"
  | "emoji"
  | "conversations"
  | "navigationViews"
  | "onboarding"
  | "bots"
  /** What is shown within the bodies of messages that may be there already: names, times, playgrounds. */
  | "bodies"
  | "feeds"
  | "outbox"
  | `message:${number}`
  | `topics:${number}`;

export class Changes {
  #pending = new Set<Part>();
  #listener: ((parts: ReadonlySet<Part>) => void) | undefined;

  mark(...parts: Part[]): void {
    for (const part of parts) this.#pending.add(part);
  }

  listen(listener: (parts: ReadonlySet<Part>) => void): void {
    this.#listener = listener;
  }

  /** Report what was marked since the last call. */
  flush(): void {
    if (!this.#pending.size) return;
    const parts = this.#pending;
    this.#pending = new Set();
    this.#listener?.(parts);
  }
}
