/** Requests to the API under `/json`, with the session's cookie and CSRF token. */

import type { Json } from "./json";

/** A response that is not a success; `code` and `varName` are those of the protocol. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
    /** Seconds after which to try again, if the server has said so. */
    readonly retryAfter?: number,
  ) {
    super(message);
    this.name = "ApiError";
  }

  get varName(): string | undefined {
    return this.details.var_name as string | undefined;
  }

  /** Whether the same request may succeed later: nothing is wrong with it. */
  get isTransient(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/** No response: the server cannot be reached, or the connection broke. */
export class NetworkError extends Error {
  /** Returns the message. The page sets one in the person's language: nothing here knows languages. */
  static describe = (): string => "The server cannot be reached.";

  constructor(cause: unknown) {
    super(NetworkError.describe(), { cause });
    this.name = "NetworkError";
  }
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Params = Record<string, Json | undefined>;

export interface RequestOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Whether the request goes on when the page is closed. */
  keepalive?: boolean;
}

const CSRF_COOKIE = /(?:^|;\s*)(?:__Host-)?csrftoken=([^;]+)/;

/** Return the token that shows that a request comes from this page. */
export function csrfToken(): string {
  // The cookie first: who has signed in again in another tab has a new one.
  return (
    CSRF_COOKIE.exec(document.cookie)?.[1] ??
    document.querySelector<HTMLMetaElement>("meta[name=csrf-token]")?.content ??
    ""
  );
}

/** Encode parameters as the protocol has them: text as it is, everything else as JSON. */
export function encode(params: Params): URLSearchParams {
  const encoded = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined) {
      encoded.append(name, typeof value === "string" ? value : JSON.stringify(value));
    }
  }
  return encoded;
}

/** Send a request. Resolves to the response's JSON; rejects with ApiError or NetworkError. */
export async function request<Result = Record<string, unknown>>(
  method: Method,
  path: string,
  params: Params | FormData = {},
  options: RequestOptions = {},
): Promise<Result> {
  const isForm = params instanceof FormData;
  const inQuery = method === "GET";
  const encoded = isForm ? params : encode(params);
  const query = inQuery && !isForm ? `?${encoded}` : "";
  let response: Response;
  try {
    response = await fetch(`/json${path}${query}`, {
      method,
      body: inQuery ? null : encoded,
      credentials: "same-origin",
      headers: { ...(inQuery ? {} : { "X-CSRFToken": csrfToken() }), ...options.headers },
      signal: options.signal ?? null,
      keepalive: options.keepalive ?? false,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new NetworkError(error);
  }
  let body: Record<string, unknown>;
  try {
    body = await response.json();
  } catch (error) {
    if (options.signal?.aborted) throw error;
    if (response.ok) throw new NetworkError(error);
    body = {};
  }
  if (response.ok) return body as Result;
  const { code, msg, ...details } = body;
  const seconds = Number(response.headers.get("Retry-After") ?? details["retry-after"]);
  throw new ApiError(
    response.status,
    String(code ?? "HTTP_ERROR"),
    String(msg ?? response.statusText),
    details,
    Number.isFinite(seconds) && seconds > 0 ? seconds : undefined,
  );
}

export const get = <R>(path: string, params: Params = {}, options?: RequestOptions) =>
  request<R>("GET", path, params, options);
export const post = <R = unknown>(path: string, params: Params | FormData = {}, options?: RequestOptions) =>
  request<R>("POST", path, params, options);
export const put = <R = unknown>(path: string, params: Params = {}, options?: RequestOptions) =>
  request<R>("PUT", path, params, options);
export const patch = <R = unknown>(path: string, params: Params = {}, options?: RequestOptions) =>
  request<R>("PATCH", path, params, options);
export const del = <R = unknown>(path: string, params: Params = {}, options?: RequestOptions) =>
  request<R>("DELETE", path, params, options);
