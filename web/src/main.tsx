import { render } from "preact";
import { feeds, start, state } from "./app";
import { applyLanguage, followAppearance } from "./appearance";
import { i18n } from "./i18n";
import { ApiError, NetworkError } from "./protocol/client";
import { startKeyboard } from "./keyboard";
import { chosenLanguage, followLanguage, speak } from "./languages";
import { ground, narrowOfAddress, startRouter } from "./router";
import "./styles/index.css";
import "virtual:icons.css";
import { load } from "./ui/lazy";
import { Shell } from "./views/shell";
import { StartFailed } from "./views/start-failed";

const root = document.getElementById("app")!;
NetworkError.describe = () => i18n.t("The server cannot be reached.");

async function main(): Promise<void> {
  // The server names the language in the page, so its texts are loaded while the account registers.
  const spoken = speak(document.documentElement.lang);
  try {
    await start(narrowOfAddress(location.hash));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      await forgetNotifications();
      location.assign(`/login/?next=${encodeURIComponent(`/${location.hash}`)}`);
      return;
    }
    await spoken;
    applyLanguage();
    render(<StartFailed error={error as Error} onRetry={() => void main()} />, root);
    return;
  }
  startRouter(state);
  // Its messages are taken, or fetched, while the texts are loaded and the page around them is rendered.
  if (ground.value.kind === "narrow") feeds.open(ground.value.narrow);
  await spoken;
  await speak(chosenLanguage());
  startKeyboard();
  followAppearance();
  followLanguage();
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
