/** Push notifications of this browser: the worker, the permission, and the subscription. */

import { state } from "../app";
import { i18n } from "../i18n";
import { ApiError, del, get, NetworkError, post } from "../protocol/client";
import { storageOf } from "../sync/tab-id";
import { scriptUrl } from "../ui/trusted";
import { keepAccount } from "./account";
import type { OpenRequest } from "./shown";

export type PushState =
  /** `isPushed`: notifications arrive also while no page is open; `problem` says why they do not. */
  | { kind: "on"; isPushed: boolean; problem?: string }
  | { kind: "off"; problem?: string }
  /** It cannot be switched on here. */
  | { kind: "impossible"; explanation: string };

interface Subscribed {
  userId: number;
  subscriptionId: number;
  endpoint: string;
}

const WORKER = "/sw.js";
const KEPT = "parley.push";
/** Without a push service, subscribing never ends. */
const TIMEOUT_MS = 20_000;
const storage = storageOf("localStorage");

/** Return what this browser can do and does. Asks the person nothing. */
export async function pushState(): Promise<PushState> {
  const explanation = obstacle();
  if (explanation !== undefined) return { kind: "impossible", explanation };
  if (Notification.permission !== "granted") return { kind: "off" };
  const isPushed = ours() !== undefined && (await (await registration())?.pushManager?.getSubscription()) != null;
  return { kind: "on", isPushed };
}

/** Ask for the permission and subscribe. To be called by a click: browsers ignore it otherwise. */
export async function enablePush(): Promise<PushState> {
  const explanation = obstacle();
  if (explanation !== undefined) return { kind: "impossible", explanation };
  const permission = await Notification.requestPermission();
  if (permission === "denied") return pushState();
  if (permission !== "granted") return { kind: "off", problem: i18n.t("The browser has not allowed notifications.") };
  try {
    await subscribe();
    return { kind: "on", isPushed: true };
  } catch (error) {
    return { kind: "on", isPushed: false, problem: problemOf(error) };
  }
}

/** End the subscription of this browser. Notifications go on while a page is open. */
export async function disablePush(): Promise<PushState> {
  const subscription = await (await registration())?.pushManager?.getSubscription();
  const endpoint = subscription?.endpoint ?? ours()?.endpoint;
  try {
    const id = endpoint === undefined ? undefined : await subscriptionId(endpoint);
    if (id !== undefined) await del(`/web_push/subscriptions/${id}`);
  } catch (error) {
    if (!(error instanceof ApiError && !error.isTransient)) return { ...(await pushState()), problem: problemOf(error) } as PushState;
  }
  await subscription?.unsubscribe();
  storage?.removeItem(KEPT);
  return pushState();
}

/** Register the worker where notifications are allowed, and renew the subscription. */
export async function startPush(): Promise<void> {
  if (obstacle() !== undefined) return;
  navigator.serviceWorker.addEventListener("message", ({ data }: MessageEvent<OpenRequest | null>) => {
    if (data?.kind === "open-address") addressIsOpened(data.address);
  });
  navigator.serviceWorker.startMessages();
  if (Notification.permission !== "granted") return;
  await register();
  // Another person may have used this browser: a subscription is of the one who made it.
  if (ours()) await subscribe();
}

/** Return the worker's registration; undefined where there is none. */
export async function registration(): Promise<ServiceWorkerRegistration | undefined> {
  if (!("serviceWorker" in navigator)) return undefined;
  return navigator.serviceWorker.getRegistration("/");
}

/** Show the address of a notification that was clicked. */
export function addressIsOpened(address: string): void {
  const target = new URL(address, location.href);
  if (target.origin !== location.origin) return;
  if (target.pathname === location.pathname) location.hash = target.hash;
  else location.assign(target.href);
}

/** Return why this browser shows no notifications; undefined if it can. */
function obstacle(): string | undefined {
  if (!isSecureContext) {
    return i18n.t("Notifications, and installing this page as an app, need an address that begins with https. All else works without it.");
  }
  if (!("serviceWorker" in navigator) || typeof Notification === "undefined") {
    return isApple()
      ? i18n.t("Add this page to the home screen, and open it there: then it can show notifications.")
      : i18n.t("This browser does not offer notifications.");
  }
  if (Notification.permission === "denied") {
    return i18n.t("This browser blocks notifications of this page. Its settings can allow them.");
  }
  return undefined;
}

function isApple(): boolean {
  return navigator.vendor.startsWith("Apple");
}

async function register(): Promise<ServiceWorkerRegistration> {
  await keepAccount({ userId: state().userId, showsEveryPush: isApple() });
  await navigator.serviceWorker.register(scriptUrl(WORKER) as string, { scope: "/" });
  return inTime(navigator.serviceWorker.ready);
}

async function subscribe(): Promise<void> {
  const worker = await register();
  if (!worker.pushManager) throw new DOMException("no push", "NotSupportedError");
  const subscription = await inTime(currentSubscription(worker.pushManager));
  const { keys } = subscription.toJSON();
  const { subscription_id } = await post<{ subscription_id: number }>("/web_push/subscriptions", {
    endpoint: subscription.endpoint,
    p256dh: keys!.p256dh!,
    auth: keys!.auth!,
    wants_removals: !isApple(),
  });
  const kept: Subscribed = { userId: state().userId, subscriptionId: subscription_id, endpoint: subscription.endpoint };
  storage?.setItem(KEPT, JSON.stringify(kept));
}

/** Return a subscription with the server's key: one that was made with another is of no use. */
async function currentSubscription(manager: PushManager): Promise<PushSubscription> {
  const key = bytesOf(String(state().fields.web_push_public_key));
  const present = await manager.getSubscription();
  if (present && isEqual(present.options.applicationServerKey, key)) return present;
  await present?.unsubscribe();
  return manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

/** Return what this browser has subscribed for the person that is signed in. */
function ours(): Subscribed | undefined {
  try {
    const kept = JSON.parse(storage?.getItem(KEPT) ?? "null") as Subscribed | null;
    return kept?.userId === state().userId ? kept : undefined;
  } catch {
    return undefined;
  }
}

async function subscriptionId(endpoint: string): Promise<number | undefined> {
  const kept = ours();
  if (kept?.endpoint === endpoint) return kept.subscriptionId;
  const { web_push_subscriptions: all } = await get<{ web_push_subscriptions: { id: number; endpoint: string }[] }>(
    "/web_push/subscriptions",
  );
  return all.find((each) => each.endpoint === endpoint)?.id;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (each) => each.charCodeAt(0));
}

function isEqual(one: ArrayBuffer | null, other: Uint8Array): boolean {
  if (one?.byteLength !== other.length) return false;
  const bytes = new Uint8Array(one);
  return other.every((each, index) => each === bytes[index]);
}

function inTime<Result>(promise: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DOMException("timed out", "TimeoutError")), TIMEOUT_MS);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function problemOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof NetworkError) return i18n.t("The server cannot be reached.");
  return i18n.t("This browser does not reach its push service: notifications are shown only while a page of this chat is open.");
}
