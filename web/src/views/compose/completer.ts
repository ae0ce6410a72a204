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
import type { Target } from "./target";
import { apply, selection, textarea } from "./textarea";
import { type Token, tokenAt } from "./tokens";

interface View {
  items: readonly TextCompletion[];
  active: number;
  label: string;
  hint?: string;
}

export interface Completer {
  readonly view: View;
  /** Load what is needed: the user is about to write. */
  prepare(): void;
  /** Look at the text again: it has changed. */
  look(): void;
  /** The same, if the caret was moved by hand. */
  lookIfMoved(): void;
  close(): void;
  pick(item: TextCompletion): void;
  activate(index: number): void;
  /** Return whether the key was one of the list. */
  onKey(event: KeyboardEvent): boolean;
}

const NOTHING: View = { items: [], active: 0, label: "" };
const MAX_SUBSCRIBERS = 5_000;

const view = signal<View>(NOTHING);
let token: Token | undefined;
let closedAt: number | undefined;
let score: ((user: User) => number) | undefined;
let scoredFor: string | undefined;

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
  scoredFor = undefined;
}

/** Return the subscribers of a channel, as far as they were fetched for completion. */
export function knownSubscribers(channelId: number): ReadonlySet<number> | undefined {
  return subscribers.get(channelId);
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

function relevanceFor(to: Target): (user: User) => number {
  const channelId = to.kind === "topic" ? to.channelId : undefined;
  // Made once a word: the order does not change while the user types on.
  const key = `${JSON.stringify(to)} ${token?.from}`;
  if (!score || scoredFor !== key) {
    score = relevance(to, channelId === undefined ? undefined : subscribers.get(channelId));
    scoredFor = key;
  }
  return score;
}

function update(to: Target): void {
  const { text, start, end } = selection();
  token = start === end ? tokenAt(text, start) : undefined;
  if (!token || token.from === closedAt) {
    if (!token) closedAt = undefined;
    if (view.peek() !== NOTHING) view.value = NOTHING;
    return;
  }
  closedAt = undefined;
  const made = sources.peek();
  if (!made) return;
  if (token.kind === "person" && to.kind === "topic" && to.channelId !== undefined) void fetchSubscribers(to.channelId);
  const items = made.completionsOf(token, to, relevanceFor(to));
  if (!items.length) {
    view.value = NOTHING;
    return;
  }
  const hint =
    token.kind === "channel"
      ? i18n.t("Enter to link the channel, > to link one of its topics")
      : token.kind === "person" && !token.isSilent
        ? i18n.t("Enter to mention, Shift+Enter to mention without notifying")
        : undefined;
  view.value = { items, active: 0, label: labelOf(token), ...(hint ? { hint } : {}) };
}

function pick(item: TextCompletion, isSilent = false): void {
  if (!token) return;
  let insert = item.text;
  if (isSilent && token.kind === "person" && insert.startsWith("@") && !insert.startsWith("@_")) insert = `@_${insert.slice(1)}`;
  const { text } = selection();
  let { to } = token;
  // Marks that were typed, or left over from before, are replaced; a blank is not doubled.
  const rest = /^\*{1,2}/.exec(text.slice(to));
  if (rest && insert.includes("*")) to += rest[0].length;
  if (insert.endsWith(" ") && text[to] === " ") to += 1;
  const at = token.from + insert.length;
  view.value = NOTHING;
  apply({ from: token.from, to, insert, start: at, end: at });
}

function close(): void {
  if (view.peek() !== NOTHING) view.value = NOTHING;
}

function onKey(event: KeyboardEvent, to: Target): boolean {
  const { items, active } = view.peek();
  if (!items.length || event.ctrlKey || event.metaKey || event.altKey) return false;
  const next = moved(event.key, active, items.length);
  if (next !== undefined) {
    view.value = { ...view.peek(), active: next };
    return true;
  }
  const chosen = items[active]!;
  switch (event.key) {
    case "Enter":
      pick(chosen, event.shiftKey);
      return true;
    case "Tab":
      if (event.shiftKey) return false;
      pick(chosen);
      return true;
    case "Escape":
      closedAt = token?.from;
      close();
      return true;
    case ">":
      return chosen.channel ? toTopics(chosen, to) : false;
    default:
      return false;
  }
}

function toTopics(chosen: TextCompletion, to: Target): boolean {
  const link = sources.peek()?.linkOf(chosen.channel!);
  if (!token || !link?.startsWith("#**")) return false;
  const insert = `${link.slice(0, -2)}>`;
  const at = token.from + insert.length;
  apply({ from: token.from, to: token.to, insert, start: at, end: at });
  update(to);
  return true;
}

export function useCompleter(to: Target): Completer {
  // What was fetched meanwhile is shown.
  const made = sources.value;
  const version = made?.fetchedVersion.value;
  useEffect(() => {
    if (token && document.activeElement === textarea()) update(to);
  }, [made, version]);
  useEffect(() => close, [to]);
  const methods = useMemo(
    () => ({
      prepare: () => {
        if (!sources.peek()) void loadSources();
      },
      look: () => update(to),
      lookIfMoved: () => {
        const { start, end } = selection();
        if (view.peek() !== NOTHING && (start !== end || start !== token?.to)) update(to);
      },
      close,
      pick: (item: TextCompletion) => pick(item),
      activate: (active: number) => {
        view.value = { ...view.peek(), active };
      },
      onKey: (event: KeyboardEvent) => onKey(event, to),
    }),
    [to],
  );
  return { ...methods, view: view.value };
}
