/** What page and service worker agree on: how notifications are named, and what they carry. */

/** The `data` of a notification. */
export interface ShownData {
  /** The newest message that the notification shows; missing in a test. */
  messageId?: number;
  /** Of reactions to a message: the newest notification has the highest one. */
  windowId?: number;
  /** Path and fragment that a click opens. */
  address: string;
}

/** Sent by the worker to the page that is to show an address. */
export interface OpenRequest {
  kind: "open-address";
  address: string;
}

export type TaggedPlace = { kind: "topic"; channelId: number; topic: string } | { kind: "direct"; userIds: readonly number[] };

/** Return the tag of a conversation: a notification replaces one with the same tag. */
export function tagOf(place: TaggedPlace): string {
  if (place.kind === "topic") return `topic:${place.channelId}:${place.topic.toLowerCase()}`;
  return `direct:${[...new Set(place.userIds)].sort((one, other) => one - other).join(",")}`;
}

/** Return how new a notification is among those with its tag; -1 for none. */
export function ageOf(data: ShownData | null | undefined): number {
  return data?.windowId ?? data?.messageId ?? -1;
}

/** Return the tag of the notifications of reactions to a message. */
export function tagOfReactions(messageId: number): string {
  return `reactions:${messageId}`;
}

/** Return path, query and fragment of an address, whatever host it names; the first page if it is none. */
export function localAddress(url: unknown): string {
  if (typeof url !== "string") return "/";
  try {
    const { protocol, pathname, search, hash } = new URL(url, "https://localhost");
    if (protocol !== "https:" && protocol !== "http:") return "/";
    // A path of two slashes would name another host.
    return pathname.replace(/^\/{2,}/, "/") + search + hash;
  } catch {
    return "/";
  }
}
