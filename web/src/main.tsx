import { render } from "preact";
import { start, state } from "./app";
import { followAppearance } from "./appearance";
import { ApiError } from "./protocol/client";
import { startKeyboard } from "./keyboard";
import { startRouter } from "./router";
import "./styles/index.css";
import { load } from "./ui/lazy";
import { Shell } from "./views/shell";
import { StartFailed } from "./views/start-failed";

const root = document.getElementById("app")!;

async function main(): Promise<void> {
  try {
    await start();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      await forgetNotifications();
      location.assign(`/login/?next=${encodeURIComponent(`/${location.hash}`)}`);
      return;
    }
    render(<StartFailed error={error as Error} onRetry={() => void main()} />, root);
    return;
  }
  startRouter(state);
  startKeyboard();
  followAppearance();
  render(<Shell />, root);
  if (state().queueId) void load(() => import("./notifications/start")).then((notifications) => notifications.start());
}

/** The worker shows nothing of an account that is signed out. */
async function forgetNotifications(): Promise<void> {
  try {
    await (await import("./notifications/account")).forgetAccount();
  } catch {
    // There is no database in this browser, and no worker.
  }
}

void main();
