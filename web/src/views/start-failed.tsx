import { i18n } from "../i18n";

/** What is shown while the server cannot be reached at all. */
export function StartFailed({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <main class="start-failed">
      <h1>{i18n.t("This page could not be loaded")}</h1>
      <p>{error.message}</p>
      <button type="button" class="primary" onClick={onRetry}>
        {i18n.t("Try again")}
      </button>
    </main>
  );
}
