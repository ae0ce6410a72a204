"""A tab of the browser client, and what is asked of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, CDPSession, Page

from benchmarks.web.scene import PASSWORD, Scene
from testkit.clients.chromium import chromium, submit_login
from testkit.test_services import BROWSERS

UNLIMITED = ("--disable-frame-rate-limit", "--disable-gpu-vsync")
"""Frames as soon as there is something to paint: waiting for the display is not measured."""

PROBE = """
performance.setResourceTimingBufferSize(100000);
window.probe = {
  shown: new Map(),
  painted: (then) => requestAnimationFrame(
    () => requestAnimationFrame(() => then(performance.now())),
  ),
  until: (test, from = performance.now()) => new Promise((resolve) => {
    const look = () => {
      if (!test()) return false;
      changes.disconnect();
      probe.painted((now) => resolve(now - from));
      return true;
    };
    const changes = new MutationObserver(look);
    // Messages are put in with their number: watching all attributes would be measured with them.
    changes.observe(document, { subtree: true, childList: true });
    look();
  }),
};
new MutationObserver((changes) => {
  const added = changes.flatMap((each) => [...each.addedNodes]);
  for (const each of added.filter((each) => each.nodeType === 1)) {
    const within = [...each.querySelectorAll("[data-message-id]")];
    for (const article of each.matches("[data-message-id]") ? [each, ...within] : within) {
      const id = Number(article.dataset.messageId);
      if (probe.shown.has(id)) continue;
      const shown = { changed: performance.now(), painted: undefined };
      probe.shown.set(id, shown);
      probe.painted((now) => { shown.painted = now; });
    }
  }
}).observe(document, { subtree: true, childList: true });
"""
"""Runs before the page: notes when each message is put in and painted."""


class Tab:
    """A page, and the protocol in which the browser answers about it."""

    def __init__(self, page: Page, session: CDPSession, scene: Scene) -> None:
        self.page = page
        self.session = session
        self.scene = scene

    async def run(self, script: str, argument: Any = None) -> Any:
        """Call the script, a function, in the page; its result."""
        return await self.page.evaluate(script, argument)

    async def open(self, address: str) -> None:
        """Load the page at an address of the client, from another page of the server.

        From a page without an origin the browser would start another process first.
        """
        await self.page.goto(f"{self.scene.url}/manifest.webmanifest")
        await self.page.goto(f"{self.scene.url}/{address}")

    async def metrics(self) -> dict[str, float]:
        answer = await self.session.send("Performance.getMetrics")
        return {each["name"]: each["value"] for each in answer["metrics"]}

    async def heap_mb(self) -> float:
        await self.session.send("HeapProfiler.collectGarbage")
        used = await self.session.send("Runtime.getHeapUsage")
        return float(used["usedSize"]) / 1e6


@asynccontextmanager
async def signed_in(scene: Scene, *options: str) -> AsyncIterator[Tab]:
    """A tab of the first person, at the inbox, in a browser of its own."""
    async with chromium(BROWSERS, *options) as browser:
        yield await _sign_in(browser, scene)


async def _sign_in(browser: Browser, scene: Scene) -> Tab:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await submit_login(page, scene.url, scene.world.email(1), PASSWORD)
    await page.get_by_role("navigation", name="Conversations").wait_for()
    await context.add_init_script(PROBE)
    return Tab(page, session, scene)
