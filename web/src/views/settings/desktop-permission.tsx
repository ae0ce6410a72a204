import { useState } from "preact/hooks";
import { i18n } from "../../i18n";

/** Whether the browser lets the page show notifications, and a button that asks for it. */
export function DesktopPermission() {
  const [permission, setPermission] = useState(() => ("Notification" in window ? Notification.permission : "denied"));
  if (!window.isSecureContext || !("Notification" in window)) {
    return <p class="faded">{i18n.t("This browser shows notifications only where the address begins with https.")}</p>;
  }
  if (permission === "granted") return <p class="faded">{i18n.t("This browser may show notifications.")}</p>;
  if (permission === "denied") {
    return <p class="faded">{i18n.t("This browser blocks notifications of this page. Its settings can allow them.")}</p>;
  }
  return (
    <p>
      <button type="button" class="primary" onClick={() => void Notification.requestPermission().then(setPermission)}>
        {i18n.t("Allow notifications in this browser")}
      </button>
    </p>
  );
}
