/**
 * Drafts: kept in this browser while the user writes, and on the server soon after.
 *
 * What is written is in the browser's storage before the next frame, so that neither a reload nor
 * a sign-in loses it. A draft that both have is the server's, unless it was changed here since.
 */

import { signal } from "@preact/signals";
import { state } from "../../app";
import type { Draft, State } from "../../model/state";
import { ApiError, del, get, patch, post } from "../../protocol/client";
import { type Target, targetKey } from "./target";

export interface LocalDraft {
  /** Names the draft in this browser. */
  key: string;
  serverId?: number;
  to: Target;
  content: string;
  /** Unix time in seconds. */
  editedAt: number;
  /** Whether the server does not have this version yet. */
  isChanged: boolean;
  /** Whether the server has refused this version: it is not tried again until it is changed. */
  isRefused?: boolean;
  /** What the server was asked to make of it, without an answer yet: it may have it or not. */
  tried?: Version;
  /** Whether it is to be deleted on the server: it is not shown any more. */
  isDeleted?: boolean;
}

interface Version {
  content: string;
  timestamp: number;
}

const SYNC_AFTER_MS = 2_000;
const RETRY_AFTER_MS = 15_000;
/** Older drafts that are only in this browser are dropped at this age. */
const MAX_AGE_SECONDS = 60 * 86_400;

/** Changes with each change of what is kept here. */
export const draftsVersion = signal(0);

const kept = new Map<string, LocalDraft>();
const timers = new Map<string, ReturnType<typeof setTimeout>>();
const syncing = new Map<string, Promise<void>>();
/** Drafts that the server has deleted, and whose event has not come yet. */
const deleted = new Set<number>();
let loadedFor: number | undefined;

function prefix(): string {
  return `parley.draft.${state().userId}.`;
}

function load(): void {
  if (loadedFor === state().userId) return;
  loadedFor = state().userId;
  kept.clear();
  try {
    for (const name of Object.keys(localStorage)) {
      if (!name.startsWith(prefix())) continue;
      const draft = JSON.parse(localStorage.getItem(name)!) as LocalDraft;
      if (draft.editedAt < Date.now() / 1000 - MAX_AGE_SECONDS) localStorage.removeItem(name);
      else {
        kept.set(draft.key, draft);
        if (draft.isChanged && !draft.isRefused) schedule(draft.key, 0);
      }
    }
  } catch {
    // Storage may be switched off: then drafts are kept by the server alone.
  }
}

/** Called with the key of a draft that another tab has changed, and what it is now. */
type TabListener = (key: string, draft: LocalDraft | undefined) => void;

/** Call a function when another tab of this browser changes a draft, or deletes it. */
export function onOtherTab(listener: TabListener): void {
  addEventListener("storage", ({ key: name, newValue }) => {
    if (!name?.startsWith(prefix()) || loadedFor !== state().userId) return;
    const key = name.slice(prefix().length);
    const draft = newValue === null ? undefined : (JSON.parse(newValue) as LocalDraft);
    clearTimeout(timers.get(key));
    timers.delete(key);
    if (draft) kept.set(key, draft);
    else kept.delete(key);
    listener(key, draft);
    draftsVersion.value = draftsVersion.peek() + 1;
  });
}

function store(draft: LocalDraft): void {
  kept.set(draft.key, draft);
  try {
    localStorage.setItem(prefix() + draft.key, JSON.stringify(draft));
  } catch {
    // Full or switched off.
  }
  draftsVersion.value = draftsVersion.peek() + 1;
}

function forget(key: string): void {
  kept.delete(key);
  clearTimeout(timers.get(key));
  timers.delete(key);
  try {
    localStorage.removeItem(prefix() + key);
  } catch {
    // As above.
  }
  draftsVersion.value = draftsVersion.peek() + 1;
}

/** Return the target of a draft as the server has it; undefined if it has none. */
export function targetOfDraft(draft: Pick<Draft, "type" | "to" | "topic">): Target {
  if (draft.type === "private") return { kind: "direct", userIds: draft.to };
  return { kind: "topic", channelId: draft.to[0], topic: draft.topic };
}

function wireOf(draft: LocalDraft, now: State): Record<string, string | number | number[]> {
  const { to, content, editedAt } = draft;
  const timestamp = Math.floor(editedAt);
  if (to.kind === "direct") {
    const known = to.userIds.filter((id) => now.users.has(id));
    return { type: known.length ? "private" : "", to: known, topic: "", content, timestamp };
  }
  if (to.channelId === undefined) return { type: "", to: [], topic: "", content, timestamp };
  return { type: "stream", to: [to.channelId], topic: to.topic.slice(0, 60), content, timestamp };
}

/** Return all drafts, last edited first: what is kept here, and what only the server has. */
export function allDrafts(): LocalDraft[] {
  load();
  const known = new Set<number>();
  const all: LocalDraft[] = [];
  for (const draft of kept.values()) {
    const there = serverDraftOf(draft);
    if (there) known.add(there.id);
    if (draft.isDeleted) continue;
    if (draft.isChanged || draft.serverId === undefined) all.push(draft);
    else if (there) all.push(ofServer(there, draft.key));
  }
  for (const draft of state().drafts.values()) {
    if (!known.has(draft.id) && !deleted.has(draft.id)) all.push(ofServer(draft, `server-${draft.id}`));
  }
  return all.filter((each) => each.content.trim()).sort((one, other) => other.editedAt - one.editedAt);
}

function serverDraftOf({ serverId, tried }: LocalDraft): Draft | undefined {
  if (serverId !== undefined) return state().drafts.get(serverId);
  return tried && [...state().drafts.values()].find((each) => isVersion(each, tried));
}

function isVersion(draft: Draft, { content, timestamp }: Version): boolean {
  return draft.timestamp === timestamp && draft.content.trim() === content.trim();
}

function ofServer(draft: Draft, key: string): LocalDraft {
  return { key, serverId: draft.id, to: targetOfDraft(draft), content: draft.content, editedAt: draft.timestamp, isChanged: false };
}

/** Return the newest draft of a conversation. */
export function draftFor(to: Target): LocalDraft | undefined {
  const key = targetKey(to);
  return allDrafts().find((each) => targetKey(each.to) === key);
}

/** Keep what is written now. A draft without text is deleted. */
export function save(key: string, to: Target, content: string): void {
  load();
  const known = kept.get(key) ?? allDrafts().find((each) => each.key === key);
  if (!content.trim()) {
    if (known) discard(key);
    return;
  }
  if (known && known.content === content && targetKey(known.to) === targetKey(to)) return;
  store({ key, serverId: known?.serverId, tried: known?.tried, to, content, editedAt: Date.now() / 1000, isChanged: true });
  schedule(key, SYNC_AFTER_MS);
}

/** Delete a draft: it was sent, or is not wanted any more. */
export function discard(key: string): void {
  const known = kept.get(key) ?? allDrafts().find((each) => each.key === key);
  if (!known) return;
  if (known.serverId === undefined && !known.tried) {
    forget(key);
    return;
  }
  store({ ...known, isDeleted: true, isChanged: true, isRefused: false });
  schedule(key, 0);
}

/** Replace a text in the draft that has it: a file was uploaded after the user had gone elsewhere. */
export function replaceInDrafts(wanted: string, by: string): void {
  const draft = allDrafts().find((each) => each.content.includes(wanted));
  if (draft) save(draft.key, draft.to, draft.content.replace(wanted, () => by));
}

function schedule(key: string, after: number): void {
  clearTimeout(timers.get(key));
  timers.set(key, setTimeout(() => void sync(key), after));
}

/** Send what has changed to the server without a delay: the page is about to be left. */
export function flush(): void {
  for (const [key, timer] of timers) {
    clearTimeout(timer);
    void sync(key, true);
  }
}

async function sync(key: string, isLeaving = false): Promise<void> {
  timers.delete(key);
  if (!state().settings.enable_drafts_synchronization) return;
  if (syncing.has(key)) {
    await syncing.get(key);
    if (kept.get(key)?.isChanged && !timers.has(key)) schedule(key, 0);
    return;
  }
  const draft = kept.get(key);
  if (!draft?.isChanged || draft.isRefused) return;
  const work = push(draft, isLeaving).finally(() => syncing.delete(key));
  syncing.set(key, work);
  await work;
}

async function push(draft: LocalDraft, isLeaving: boolean): Promise<void> {
  const options = isLeaving ? { keepalive: true } : {};
  try {
    if (draft.serverId === undefined && draft.tried) draft = await lookUp(draft);
    if (draft.isDeleted) {
      await remove(draft, options);
      return;
    }
    const wire = wireOf(draft, state());
    if (draft.serverId === undefined) {
      // Kept first: the page may be left, or the server end, before the answer is here.
      draft = { ...draft, tried: { content: draft.content, timestamp: Number(wire.timestamp) } };
      store(draft);
      const { ids } = await post<{ ids: number[] }>("/drafts", { drafts: [wire] }, options);
      draft.serverId = ids[0]!;
    } else await patch(`/drafts/${draft.serverId}`, { draft: wire }, options);
  } catch (error) {
    settleFailure(draft, error);
    return;
  }
  const now = kept.get(draft.key);
  if (!now) return;
  if (now === draft) store({ ...draft, tried: undefined, isChanged: false });
  else store({ ...now, tried: undefined, serverId: draft.serverId });
}

/** Find out whether the server has made a draft although its answer was lost. */
async function lookUp(draft: LocalDraft): Promise<LocalDraft> {
  const { drafts } = await get<{ drafts: Draft[] }>("/drafts");
  const found = drafts.find((each) => isVersion(each, draft.tried!));
  const now = kept.get(draft.key) ?? draft;
  const known = { ...now, tried: undefined, serverId: found?.id };
  store(known);
  return known;
}

async function remove(draft: LocalDraft, options: { keepalive?: boolean }): Promise<void> {
  if (draft.serverId !== undefined) {
    try {
      await del(`/drafts/${draft.serverId}`, {}, options);
    } catch (error) {
      // What the server does not have need not be deleted.
      if (!(error instanceof ApiError) || error.isTransient) throw error;
    }
    deleted.add(draft.serverId);
    state().drafts.delete(draft.serverId);
  }
  forget(draft.key);
}

function settleFailure(draft: LocalDraft, error: unknown): void {
  const now = kept.get(draft.key);
  if (!now) return;
  if (error instanceof ApiError && error.status === 404) {
    // It was deleted elsewhere, and has been changed here since.
    store({ ...now, serverId: undefined });
    schedule(draft.key, SYNC_AFTER_MS);
  } else if (error instanceof ApiError && !error.isTransient) {
    if (now === draft) store({ ...now, tried: undefined, isRefused: true });
  } else schedule(draft.key, RETRY_AFTER_MS);
}
