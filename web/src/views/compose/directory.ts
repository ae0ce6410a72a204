/** People, groups and channels to complete from, ranked by how much the user has to do with them. */

import { state } from "../../app";
import { channelRefusal } from "./rules";
import { mentionsGroup } from "../../model/permissions";
import { type Channel, directKey, type Group, idsOfKey, type User } from "../../model/state";
import { best, type Entry, fold, incremental } from "../../model/names-index";
import type { Target } from "./target";

/** Folded names by user: a change of one user folds one name. */
const folded = new WeakMap<User, { name: string; email: string; entry: Entry<User> }>();

interface People {
  entries: Entry<User>[];
  /** How many have each name: a mention of a name that several have carries the id. */
  counts: Map<string, number>;
  byName: Map<string, User>;
}

let people: People | undefined;
let madeOf: { users: Map<number, User>; version: number } | undefined;
let version = 0;

/** Make the index anew when it is used next: people have changed. */
export function forgetPeople(): void {
  version += 1;
}

function entryOf(user: User): Entry<User> {
  const known = folded.get(user);
  if (known && known.name === user.full_name && known.email === user.email) return known.entry;
  const entry = { item: user, folded: fold(user.full_name), also: fold(user.delivery_email ?? user.email).split("@")[0]! };
  folded.set(user, { name: user.full_name, email: user.email, entry });
  return entry;
}

export function peopleIndex(): People {
  const { users } = state();
  if (people && madeOf?.users === users && madeOf.version === version) return people;
  const made: People = { entries: [], counts: new Map(), byName: new Map() };
  for (const user of users.values()) {
    const name = user.full_name.toLowerCase();
    made.counts.set(name, (made.counts.get(name) ?? 0) + 1);
    if (!user.is_active) continue;
    made.byName.set(name, user);
    if (!user.is_system_bot) made.entries.push(entryOf(user));
  }
  madeOf = { users, version };
  return (people = made);
}

/** Return the only active user of a name. */
export function userNamed(name: string): User | undefined {
  const key = name.trim().toLowerCase();
  const index = peopleIndex();
  if (index.counts.get(key) === 1) return index.byName.get(key);
  const byEmail = key.includes("@") ? [...state().users.values()].filter((each) => each.is_active && each.email.toLowerCase() === key) : [];
  return byEmail.length === 1 ? byEmail[0] : (index.byName.get(key) && onlyActive(key)) || undefined;
}

function onlyActive(key: string): User | undefined {
  const active = peopleIndex().entries.filter((each) => each.item.full_name.toLowerCase() === key);
  return active.length === 1 ? active[0]!.item : undefined;
}

/** Return how much the user has to do with each person, where a message is written: made once a word. */
export function relevance(to: Target | undefined, subscribers?: ReadonlySet<number>): (user: User) => number {
  const { conversations, messages, userId, mutedUsers } = state();
  const recent = new Map<number, number>();
  const newest = [...conversations].sort((one, other) => other[1] - one[1]).slice(0, 200);
  newest.forEach(([key], rank) => {
    for (const id of idsOfKey(key)) if (!recent.has(id)) recent.set(id, 100 - rank / 4);
  });
  if (to?.kind === "topic") {
    const topic = to.topic.toLowerCase();
    for (const message of messages.values()) {
      if (message.stream_id !== to.channelId) continue;
      const points = message.subject.toLowerCase() === topic ? 1_000 : 300;
      recent.set(message.sender_id, Math.max(points, recent.get(message.sender_id) ?? 0));
    }
  } else if (to) for (const id of to.userIds) recent.set(id, 2_000);
  return (user) =>
    (recent.get(user.user_id) ?? 0) +
    (subscribers?.has(user.user_id) ? 150 : 0) -
    (user.user_id === userId ? 50 : 0) -
    (user.is_bot ? 20 : 0) -
    (mutedUsers.has(user.user_id) ? 10_000 : 0);
}

const narrowed = incremental<User>();

export function findPeople(query: string, limit: number, score: (user: User) => number, without?: ReadonlySet<number>): User[] {
  const typed = fold(query);
  const matching = narrowed(peopleIndex().entries, typed);
  const among = without?.size ? matching.filter((each) => !without.has(each.item.user_id)) : matching;
  return best(among, typed, limit, score).filter((each) => score(each) > -5_000);
}

export function findGroups(query: string, limit: number): Group[] {
  const entries = [...state().groups.values()]
    .filter((each) => mentionsGroup(state(), each))
    .map((each) => ({ item: each, folded: fold(each.name), also: "" }));
  return best(entries, fold(query), limit, () => 0);
}

function channelScore(channel: Channel): number {
  return (
    (channel.is_subscribed ? 100 : 0) +
    (channel.pin_to_top ? 20 : 0) +
    (channel.is_recently_active ? 10 : 0) -
    (channel.is_muted ? 40 : 0) -
    (channel.is_archived ? 200 : 0)
  );
}

/** Return channels by name; for writing only those in which the user may post. */
export function findChannels(query: string, limit: number, forWriting: boolean): Channel[] {
  const entries = [...state().channels.values()]
    .filter((each) => !forWriting || channelRefusal(state(), each) === undefined)
    .map((each) => ({ item: each, folded: fold(each.name), also: "" }));
  return best(entries, fold(query), limit, channelScore);
}

export function channelNamed(name: string): Channel | undefined {
  const wanted = name.trim().toLowerCase().replace(/^#/, "");
  if (!wanted) return undefined;
  for (const channel of state().channels.values()) if (channel.name.toLowerCase() === wanted) return channel;
  return undefined;
}

/** Return the name of a direct message conversation. */
export function namesOf(userIds: readonly number[]): string {
  return idsOfKey(directKey(userIds, state().userId))
    .map((id) => state().users.get(id)?.full_name ?? "?")
    .join(", ");
}
