/** Completion in the message box: from the word at the caret to a text in its place. */

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { i18n } from "../../i18n";
import type { User } from "../../model/state";
import { get } from "../../protocol/client";
import { state } from "../../app";
import { moved } from "../../ui/completions";
import { load } from "../../ui/lazy";
import { peopleIndex, relevance } from "./directory";
import type { TextCompletion } from "./sources";
import { type Target, targetKey } from "./target";
import type { TextBox } from "./textarea";
import { type Token, tokenAt } from "./tokens";

interface View {
  items: readonly TextCompletion[];
  active: number;
  label: string;
  hint?: string;
}

const NOTHING: View = { items: [], active: 0, label: "" };
const MAX_SUBSCRIBERS = 5_000;

/** What completions are made of: loaded when the user begins to write. */
const sources = signal<typeof import("./sources") | undefined>(undefined);

async function loadSources(): Promise<void> {
  try {
    sources.value = await load(() => import("./sources"));
    // Names are folded before the first mention, not while it is typed.
    setTimeout(peopleIndex, 50);
  } catch {
    // One can write without completions; the next focus tries again.
  }
}

const subscribers = new Map<number, ReadonlySet<number>>();
/** Changes with what is known of subscribers. */
let subscribersVersion = 0;

/** Fetch who is subscribed, so that subscribers come first; large channels are not asked for. */
async function fetchSubscribers(channelId: number): Promise<void> {
  const channel = state().channels.get(channelId);
  if (subscribers.has(channelId) || !channel || channel.subscriber_count > MAX_SUBSCRIBERS) return;
  subscribers.set(channelId, new Set());
  try {
    const answer = await get<{ subscribers: number[] }>(`/streams/${channelId}/members`);
    subscribers.set(channelId, new Set(answer.subscribers));
  } catch {
    subscribers.delete(channelId);
  }
  subscribersVersion += 1;
}

function hintOf(token: Token): string | undefined {
  if (token.kind === "channel") return i18n.t("Enter to link the channel, > to link one of its topics");
  if (token.kind === "person" && !token.isSilent) return i18n.t("Enter to mention, Shift+Enter to mention without notifying");
  return undefined;
}

function labelOf({ kind }: Token): string {
  switch (kind) {
    case "person":
      return i18n.t("People and groups");
    case "channel":
      return i18n.t("Channels");
    case "topic":
      return i18n.t("Topics");
    case "emoji":
      return i18n.t("Emoji");
    case "command":
      return i18n.t("Commands");
    case "time":
      return i18n.t("Times");
    case "language":
      return i18n.t("Languages");
  }
}

/** The completions of one box. */
export class Completer {
  readonly #view = signal<View>(NOTHING);
  #token: Token | undefined;
  /** Where the list was closed by hand: it stays so until another word is begun. */
  #closedAt: number | undefined;
  #score: ((user: User) => number) | undefined;
  #scoredFor: string | undefined;

  constructor(
    private readonly box: TextBox,
    /** What is being written to. */
    public to: Target,
    /** Whether a text may begin with a command: messages do, their edits do not. */
    private readonly hasCommands: boolean,
  ) {}

  get view(): View {
    return this.#view.value;
  }

  /** Load what is needed: the user is about to write. */
  prepare(): void {
    if (!sources.peek()) void loadSources();
  }

  /** Look at the text again: it has changed. */
  look(): void {
    const { box, to } = this;
    const { text, start, end } = box.selection();
    const token = start === end ? tokenAt(text, start) : undefined;
    this.#token = token;
    if (!token || token.from === this.#closedAt || (token.kind === "command" && !this.hasCommands)) {
      if (!token) this.#closedAt = undefined;
      return this.close();
    }
    this.#closedAt = undefined;
    const made = sources.peek();
    if (!made) return;
    if (token.kind === "person" && to.kind === "topic" && to.channelId !== undefined) void fetchSubscribers(to.channelId);
    const items = made.completionsOf(token, to, this.#relevance(token));
    if (!items.length) return this.close();
    const hint = hintOf(token);
    this.#view.value = { items, active: 0, label: labelOf(token), ...(hint ? { hint } : {}) };
  }

  /** Look again at what the list was made of, as far as the user is writing here. */
  refresh(): void {
    if (this.#token && document.activeElement === this.box.element) this.look();
  }

  /** Look again, if the caret was moved by hand. */
  lookIfMoved(): void {
    const { start, end } = this.box.selection();
    if (this.#view.peek() !== NOTHING && (start !== end || start !== this.#token?.to)) this.look();
  }

  close(): void {
    if (this.#view.peek() !== NOTHING) this.#view.value = NOTHING;
  }

  activate(active: number): void {
    this.#view.value = { ...this.#view.peek(), active };
  }

  /** Put an item in the place of the word. */
  pick(item: TextCompletion, isSilent = false): void {
    const token = this.#token;
    if (!token) return;
    let insert = item.text;
    if (isSilent && token.kind === "person" && insert.startsWith("@") && !insert.startsWith("@_")) insert = `@_${insert.slice(1)}`;
    const { text } = this.box.selection();
    let { to } = token;
    // Marks that were typed, or left over from before, are replaced; a blank is not doubled.
    const rest = /^\*{1,2}/.exec(text.slice(to));
    if (rest && insert.includes("*")) to += rest[0].length;
    if (insert.endsWith(" ") && text[to] === " ") to += 1;
    const at = token.from + insert.length;
    this.#view.value = NOTHING;
    this.box.apply({ from: token.from, to, insert, start: at, end: at });
  }

  /** Return whether the key was one of the list. */
  onKey(event: KeyboardEvent): boolean {
    const { items, active } = this.#view.peek();
    if (!items.length || event.ctrlKey || event.metaKey || event.altKey) return false;
    const next = moved(event.key, active, items.length);
    if (next !== undefined) {
      this.activate(next);
      return true;
    }
    const chosen = items[active]!;
    switch (event.key) {
      case "Enter":
        this.pick(chosen, event.shiftKey);
        return true;
      case "Tab":
        if (event.shiftKey) return false;
        this.pick(chosen);
        return true;
      case "Escape":
        this.#closedAt = this.#token?.from;
        this.close();
        return true;
      case ">":
        return chosen.channel ? this.#toTopics(chosen) : false;
      default:
        return false;
    }
  }

  /** Go on from a channel to its topics. */
  #toTopics(chosen: TextCompletion): boolean {
    const token = this.#token;
    const link = sources.peek()?.linkOf(chosen.channel!);
    if (!token || !link?.startsWith("#**")) return false;
    const insert = `${link.slice(0, -2)}>`;
    const at = token.from + insert.length;
    this.box.apply({ from: token.from, to: token.to, insert, start: at, end: at });
    this.look();
    return true;
  }

  #relevance(token: Token): (user: User) => number {
    const { to } = this;
    const channelId = to.kind === "topic" ? to.channelId : undefined;
    // Made once a word: the order does not change while the user types on.
    const key = `${JSON.stringify(to)} ${token.from} ${subscribersVersion}`;
    if (!this.#score || this.#scoredFor !== key) {
      this.#score = relevance(to, channelId === undefined ? undefined : subscribers.get(channelId));
      this.#scoredFor = key;
    }
    return this.#score;
  }
}

/** Return the completer of a box, which renders its list anew when what it is made of was fetched. */
export function useCompleter(box: TextBox, to: Target, hasCommands: boolean): Completer {
  const completer = useMemo(() => new Completer(box, to, hasCommands), [box, hasCommands]);
  completer.to = to;
  const made = sources.value;
  const version = made?.fetchedVersion.value;
  useEffect(() => completer.refresh(), [made, version]);
  useEffect(() => () => completer.close(), [completer, targetKey(to)]);
  return completer;
}
