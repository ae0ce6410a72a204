import { useEffect, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { disablePush, enablePush, type PushState, pushState } from "../../notifications/push";

/** Whether this browser shows notifications, and whether also while no page is open; switches both. */
export function DesktopPermission() {
  const [push, setPush] = useState<PushState>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => void pushState().then(setPush), []);
  if (!push) return null;
  if (push.kind === "impossible") return <p class="faded">{push.explanation}</p>;

  const change = async (action: () => Promise<PushState>) => {
    setBusy(true);
    try {
      setPush(await action());
    } finally {
      setBusy(false);
    }
  };
  const isPushed = push.kind === "on" && push.isPushed;
  return (
    <div>
      <p class="faded">{explanationOf(push)}</p>
      <p>
        <button
          type="button"
          class={isPushed ? undefined : "primary"}
          aria-disabled={isBusy}
          onClick={() => void (isBusy || change(isPushed ? disablePush : enablePush))}
        >
          {isBusy ? i18n.t("One moment…") : labelOf(push)}
        </button>
      </p>
      <p class="problem" role="status">
        {isBusy ? "" : push.problem}
      </p>
    </div>
  );
}

function explanationOf(push: Exclude<PushState, { kind: "impossible" }>): string {
  if (push.kind === "off") return i18n.t("This browser shows no notifications yet.");
  return push.isPushed
    ? i18n.t("This browser shows notifications, also while no page of this chat is open.")
    : i18n.t("This browser shows notifications while a page of this chat is open.");
}

function labelOf(push: Exclude<PushState, { kind: "impossible" }>): string {
  if (push.kind === "off") return i18n.t("Allow notifications in this browser");
  return push.isPushed ? i18n.t("Only while a page is open") : i18n.t("Notify also while no page is open");
}
