/**
 * Drafts: kept in this browser while the user writes, and on the server soon after.
 *
 * What is written is in the browser's storage before the next frame, so that neither a reload nor
 * a sign-in loses it. A draft that both have is the server's, unless it was changed here since.
 * All tabs of a browser share its drafts. Of two versions the one that was edited last is kept, in
 * whatever order tabs learn of them; and one tab at a time tells the server about a draft.
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
        // Later than the tab that has written it, if that is still there.
        if (draft.isChanged && !draft.isRefused) schedule(draft.key, SYNC_AFTER_MS + SYNC_AFTER_MS / 2);
      }
    }
  } catch {
    // Storage may be switched off: then drafts are kept by the server alone.
  }
}

/** Called with the key of a draft that another tab has edited or deleted, and what it is now. */
type TabListener = (key: string, draft: LocalDraft | undefined) => void;

/** Call a function when another tab of this browser edits a draft, or deletes it. */
export function onOtherTab(listener: TabListener): void {
  addEventListener("storage", ({ key: name, newValue }) => {
    if (!name?.startsWith(prefix()) || loadedFor !== state().userId) return;
    const key = name.slice(prefix().length);
    const before = kept.get(key);
    const now = takeOver(key, newValue);
    draftsVersion.value = draftsVersion.peek() + 1;
    if (!isSameText(before, now)) listener(key, now?.isDeleted ? undefined : now);
  });
}

/** Take over what another tab has stored, unless this tab has a later version. Returns the later. */
function takeOver(key: string, stored: string | null): LocalDraft | undefined {
  const mine = kept.get(key);
  const theirs = stored === null ? undefined : (JSON.parse(stored) as LocalDraft);
  if (mine && theirs && mine.editedAt > theirs.editedAt) {
    const { tried } = theirs;
    const merged = { ...mine, tried, serverId: theirs.serverId ?? mine.serverId };
    store(merged);
    return merged;
  }
  clearTimeout(timers.get(key));
  timers.delete(key);
  if (theirs) kept.set(key, theirs);
  else kept.delete(key);
  return theirs;
}

function isSameText(one: LocalDraft | undefined, other: LocalDraft | undefined): boolean {
  if (!one || !other) return one === other;
  return one.content === other.content && !one.isDeleted === !other.isDeleted && targetKey(one.to) === targetKey(other.to);
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

/** Return the server's id of a draft, if the server has it. */
export function serverIdOf(key: string): number | undefined {
  const id = /^server-(\d+)$/.exec(key)?.[1];
  return id === undefined ? kept.get(key)?.serverId : Number(id);
}

/** Return whether the server has this text of a draft that was edited here. */
export function isSynced(key: string, content: string): boolean {
  const draft = kept.get(key);
  return draft !== undefined && !draft.isChanged && draft.content === content;
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
  store({ ...known, editedAt: Date.now() / 1000, isDeleted: true, isChanged: true, isRefused: false });
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
  // A page that is being left cannot wait.
  const work = (isLeaving ? push(key, true) : alone(key, () => push(key, false))).finally(() => syncing.delete(key));
  syncing.set(key, work);
  await work;
}

/** Run a function while no other tab runs one for the same draft, where the browser has locks. */
async function alone(key: string, work: () => Promise<void>): Promise<void> {
  const { locks } = navigator;
  if (locks) await locks.request(prefix() + key, work);
  else await work();
}

async function push(key: string, isLeaving: boolean): Promise<void> {
  let draft = newest(key);
  if (!draft?.isChanged || draft.isRefused) return;
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
  const now = newest(key);
  if (!now) return;
  store({ ...now, tried: undefined, serverId: draft.serverId, isChanged: !isSameVersion(now, draft) });
}

/** Return a draft as this tab has it, or as the storage does if another tab has changed it since. */
function newest(key: string): LocalDraft | undefined {
  const mine = kept.get(key);
  try {
    const stored = localStorage.getItem(prefix() + key);
    const theirs = stored === null ? undefined : (JSON.parse(stored) as LocalDraft);
    return mine && theirs && theirs.editedAt >= mine.editedAt ? theirs : mine;
  } catch {
    return mine;
  }
}

function isSameVersion(one: LocalDraft, other: LocalDraft): boolean {
  return one.editedAt === other.editedAt && isSameText(one, other);
}

/** Find out whether the server has made a draft although its answer was lost. */
async function lookUp(draft: LocalDraft): Promise<LocalDraft> {
  const { drafts } = await get<{ drafts: Draft[] }>("/drafts");
  const found = drafts.find((each) => isVersion(each, draft.tried!));
  const now = newest(draft.key) ?? draft;
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
    if (isSameVersion(now, draft)) store({ ...now, tried: undefined, isRefused: true });
  } else schedule(draft.key, RETRY_AFTER_MS);
}
