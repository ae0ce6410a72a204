/** Resumable uploads by tus. Loaded with the first file. */

import { DefaultHttpStack, type DetailedError, type HttpStack, Upload } from "tus-js-client";

const ENDPOINT = "/json/tus";
const RETRY_DELAYS_MS = [500, 1_000, 3_000, 5_000, 10_000, 20_000, 30_000, 30_000, 30_000, 60_000];
/** So much is sent by one request at most: less is lost where proxies keep no connection for long. */
const CHUNK_BYTES = 64 * 1024 * 1024;

export interface UploadListener {
  onProgress: (progress: number) => void;
  /** The connection is lost: it is tried again. */
  onWaiting: () => void;
  /** What ends the upload, and deletes what the server has of it. */
  onStarted: (abort: () => void) => void;
}

/** Requests under `/json`, which take the session's cookie: the server names uploads below `/api/v1`. */
class SessionStack implements HttpStack {
  readonly #stack = new DefaultHttpStack({});

  createRequest(method: string, url: string) {
    const { pathname } = new URL(url, location.href);
    return this.#stack.createRequest(method, pathname.replace(/^\/api\/v1\//, "/json/"));
  }

  getName(): string {
    return "SessionStack";
  }
}

function messageOf(error: Error | DetailedError): string {
  const body = "originalResponse" in error ? error.originalResponse?.getBody() : undefined;
  try {
    return (JSON.parse(body ?? "") as { msg?: string }).msg ?? error.message;
  } catch {
    return error.message;
  }
}

function willRetry(error: DetailedError): boolean {
  const status = error.originalResponse?.getStatus() ?? 0;
  return status === 0 || status === 409 || status === 423 || status === 429 || status >= 500;
}

/**
 * Upload a file. Resolves to its address; rejects with what the server says against it.
 *
 * `purpose` is `import` for an export of another program.
 */
export function upload(file: File, csrf: string, listener: UploadListener, purpose?: "import"): Promise<{ url: string; filename: string }> {
  return new Promise((resolve, reject) => {
    const sending = new Upload(file, {
      endpoint: ENDPOINT,
      httpStack: new SessionStack(),
      headers: { "X-CSRFToken": csrf },
      metadata: { filename: file.name, filetype: file.type, ...(purpose ? { purpose } : {}) },
      fingerprint: (_, options) => Promise.resolve([file.name, file.size, file.lastModified, options.endpoint, purpose ?? ""].join("|")),
      chunkSize: CHUNK_BYTES,
      retryDelays: RETRY_DELAYS_MS,
      uploadDataDuringCreation: true,
      removeFingerprintOnSuccess: true,
      onShouldRetry: (error) => {
        const isWorthIt = willRetry(error);
        if (isWorthIt) listener.onWaiting();
        return isWorthIt;
      },
      onProgress: (sent, total) => listener.onProgress(total ? sent / total : 1),
      onError: (error) => reject(new Error(messageOf(error), { cause: error })),
      onSuccess: ({ lastResponse }) => {
        const { url, filename } = JSON.parse(lastResponse.getBody()) as { url: string; filename: string };
        resolve({ url, filename });
      },
    });
    listener.onStarted(() => void sending.abort(true).catch(() => undefined));
    void sending.findPreviousUploads().then(([previous]) => {
      if (previous) sending.resumeFromPreviousUpload(previous);
      sending.start();
    }, () => sending.start());
  });
}
