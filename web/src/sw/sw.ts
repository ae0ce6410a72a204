/** The service worker: shows what is pushed, and opens it. It keeps no page for use without a network. */

import { currentAccount } from "../notifications/account";
import { ageOf, localAddress, type OpenRequest, type ShownData, tagOf } from "../notifications/shown";

declare const self: ServiceWorkerGlobalScope;

/** What the server pushes: docs/protocol.md, "Browsers". */
interface Payload {
  type: string;
  user_id: number;
  message_ids?: number[];
  unread_count?: number;
  title?: string;
  body?: string;
  url?: string;
  /** Of reactions to a message. */
  window_id?: number;
  tag?: string;
  silent?: boolean;
  time?: number;
  icon?: string;
  recipient_type?: "channel" | "direct";
  channel_id?: number;
  topic?: string;
  recipient_user_ids?: number[];
}

type ShownOptions = NotificationOptions & { renotify?: boolean; timestamp?: number };

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(receive(event.data)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data as ShownData | null));
});
self.addEventListener("pushsubscriptionchange", (event) => (event as ExtendableEvent).waitUntil(renew(event as SubscriptionChange)));

async function receive(data: PushMessageData | null): Promise<void> {
  const payload = payloadOf(data);
  const account = await currentAccount();
  if (!payload || payload.user_id !== account?.userId) return;
  if (payload.type === "remove") await close(payload.message_ids ?? []);
  else if (payload.type === "test") await show(payload);
  // Browsers that end the subscription of pages which do not show every push are an exception.
  else if ((payload.type === "message" || payload.type === "reactions") && (account.showsEveryPush || !(await isLookedAt()))) await show(payload);
  if (payload.unread_count !== undefined) await setBadge(payload.unread_count);
}

function payloadOf(data: PushMessageData | null): Payload | undefined {
  try {
    const payload: unknown = data?.json();
    return typeof payload === "object" && payload !== null ? (payload as Payload) : undefined;
  } catch {
    return undefined;
  }
}

async function isLookedAt(): Promise<boolean> {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return pages.some((each) => each.focused && isClient(each));
}

/** Return whether a window shows the client: there are other pages, such as that of signing in. */
function isClient({ url }: WindowClient): boolean {
  return new URL(url).pathname === "/";
}

async function show(payload: Payload): Promise<void> {
  const tag = tagOfPayload(payload);
  const data = dataOf(payload);
  const present = (await self.registration.getNotifications({ tag }))[0]?.data as ShownData | null | undefined;
  const age = ageOf(data);
  const isOld = age >= 0 && ageOf(present) >= age;
  // What arrives late must not replace a newer message.
  if (isOld && ageOf(present) !== age) return;
  const options: ShownOptions = {
    body: payload.body ?? "",
    tag,
    data,
    silent: isOld || payload.silent === true,
    renotify: !isOld,
    ...(payload.icon ? { icon: payload.icon } : {}),
    ...(payload.time ? { timestamp: payload.time * 1_000 } : {}),
  };
  await self.registration.showNotification(payload.title ?? "", options);
}

function dataOf(payload: Payload): ShownData {
  const address = localAddress(payload.url);
  // Reactions are to a message that has been read: reading closes nothing.
  if (payload.window_id !== undefined) return { windowId: payload.window_id, address };
  const messageId = payload.message_ids?.at(-1);
  return { address, ...(messageId === undefined ? {} : { messageId }) };
}

/** Return the tag that the page gives the same conversation; the server's where it is not said. */
function tagOfPayload(payload: Payload): string {
  if (payload.recipient_type === "channel" && payload.channel_id !== undefined && payload.topic !== undefined) {
    return tagOf({ kind: "topic", channelId: payload.channel_id, topic: payload.topic });
  }
  if (payload.recipient_type === "direct" && payload.recipient_user_ids) {
    return tagOf({ kind: "direct", userIds: payload.recipient_user_ids });
  }
  return payload.tag ?? payload.type;
}

async function close(messageIds: readonly number[]): Promise<void> {
  const read = new Set(messageIds);
  for (const notification of await self.registration.getNotifications()) {
    const { messageId } = (notification.data ?? {}) as Partial<ShownData>;
    if (messageId !== undefined && read.has(messageId)) notification.close();
  }
}

async function setBadge(count: number): Promise<void> {
  try {
    await (count ? self.navigator.setAppBadge?.(count) : self.navigator.clearAppBadge?.());
  } catch {
    // The client is not installed.
  }
}

async function open(data: ShownData | null): Promise<void> {
  const address = data?.address ?? "/";
  const pages = (await self.clients.matchAll({ type: "window", includeUncontrolled: true })).filter(isClient);
  const page = pages.find((each) => each.focused) ?? pages.find((each) => each.visibilityState === "visible") ?? pages[0];
  if (!page) {
    await self.clients.openWindow(address);
    return;
  }
  page.postMessage({ kind: "open-address", address } satisfies OpenRequest);
  await page.focus();
}

interface SubscriptionChange extends ExtendableEvent {
  oldSubscription?: PushSubscription | null;
  newSubscription?: PushSubscription | null;
}

/** The push service has ended the subscription: make another one. Else the next start of a page does. */
async function renew({ oldSubscription, newSubscription }: SubscriptionChange): Promise<void> {
  const account = await currentAccount();
  if (!account || !oldSubscription) return;
  const { applicationServerKey } = oldSubscription.options;
  const subscription =
    newSubscription ?? (await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }));
  // The token that shows that a request comes from a page of this server is in the page.
  const page = await (await fetch("/", { credentials: "same-origin" })).text();
  const token = /<meta name="csrf-token" content="([^"]*)"/.exec(page)?.[1];
  const { keys } = subscription.toJSON();
  if (!token || !keys) return;
  await fetch("/json/web_push/subscriptions", {
    method: "POST",
    credentials: "same-origin",
    headers: { "X-CSRFToken": token },
    body: new URLSearchParams({
      endpoint: subscription.endpoint,
      p256dh: keys.p256dh!,
      auth: keys.auth!,
      wants_removals: String(!account.showsEveryPush),
    }),
  });
}
