// Brings what has the attribute data-live up to date every few seconds, without moving the focus.
"use strict";

const PAUSE_MILLISECONDS = 5000;
const toggle = document.getElementById("live");
const away = document.getElementById("away");

function isRead(element) {
  // Somebody has marked text in it, to copy it.
  const selection = document.getSelection();
  return !selection.isCollapsed && selection.containsNode(element, true);
}

function replace(element, fresh) {
  if (element.innerHTML === fresh.innerHTML || isRead(element)) return;
  const focused = element.contains(document.activeElement) ? document.activeElement.id : "";
  element.replaceChildren(...fresh.childNodes);
  if (focused) document.getElementById(focused)?.focus({preventScroll: true});
}

async function refresh() {
  if (!toggle.checked || document.hidden) return;
  try {
    const answer = await fetch(location.href, {redirect: "manual"});
    if (answer.type === "opaqueredirect") return location.reload();
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!toggle.checked) return; // switched off while the answer was on its way
    for (const element of document.querySelectorAll("[data-live]")) {
      const found = fresh.getElementById(element.id);
      if (found) replace(element, found);
    }
    document.title = fresh.title;
    away.textContent = "";
  } catch {
    away.textContent = "No answer. This is how it was then.";
  }
}

async function run() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    await refresh();
  }
}

document.getElementById("live-toggle").hidden = false;
document.addEventListener("visibilitychange", refresh);
toggle.addEventListener("change", refresh);
run();
