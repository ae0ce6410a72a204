"""A scripted person at the browser client, who types and sends without a pause."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from playwright.async_api import BrowserContext, CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from testkit.clients.chromium import submit_login

ANSWER_SECONDS = 60
RELOAD_MS = 15_000

STAND = """() => ({
    shown: [...document.querySelectorAll("[role=feed] [data-message-id]")].map((each) => [
        Number(each.dataset.messageId),
        each.querySelector(".message-body")?.textContent.trim() ?? "",
    ]),
    pending: document.querySelectorAll(".pending-message").length,
    stored: Object.keys(localStorage).filter((each) => each.startsWith("parley.outbox.")).length,
    connection: document.querySelector("[aria-label=Connection]")?.textContent ?? "absent",
})"""
ROLL_BACK = """() => {
    document.querySelector(".feed-scroller").scrollTop = 0;
    return Boolean(document.querySelector(".feed-start"));
}"""
TO_NEWEST = """() => document.querySelector(".feed-to-newest")?.click()"""


@dataclass(frozen=True)
class Stand:
    """The state of a page."""

    shown: list[tuple[int, str]]
    """Ids and texts of the messages in the page, in their order."""
    pending: int
    stored: int
    """Messages that the browser keeps because they have not been sent."""
    connection: str

    @property
    def newest(self) -> int:
        return self.shown[-1][0] if self.shown else 0


@dataclass
class Person:
    """One signed-in person, or a second tab. `hands` is a lock, held while the page is in use."""

    name: str
    page: Page
    session: CDPSession
    hands: asyncio.Lock = field(default_factory=asyncio.Lock)
    sent: int = 0
    complaints: list[str] = field(default_factory=list)

    async def write_on(self) -> None:
        """Type and send one numbered message after the other, until cancelled."""
        while True:
            async with self.hands:
                await self._write_one()

    async def _write_one(self) -> None:
        box = self.page.get_by_role("textbox", name="Message", exact=True)
        await box.focus()
        await self.page.keyboard.type(self.text(self.sent + 1))
        await self.page.keyboard.press("Control+Enter")
        self.sent += 1

    def text(self, number: int) -> str:
        return f"{self.name} says {number}"

    async def stand(self) -> Stand:
        found = await asyncio.wait_for(self.page.evaluate(STAND), ANSWER_SECONDS)
        shown = [(int(number), str(text)) for number, text in found["shown"]]
        return Stand(shown, found["pending"], found["stored"], found["connection"])

    async def reload(self) -> None:
        """Load the page again, until it comes: the server may be away."""
        while True:
            with suppress(PlaywrightError):
                await self.page.reload(timeout=RELOAD_MS)
                box = self.page.get_by_role("textbox", name="Message", exact=True)
                await box.wait_for(timeout=RELOAD_MS)
                return
            await asyncio.sleep(1)

    async def sleep(self, seconds: float, *, is_told: bool) -> None:
        """Let nothing of the page run for a while, as in a tab that browsers put to sleep.

        Pages without a window count as seen, and the browser refuses to freeze those: so their
        scripts are halted. With `is_told` the page gets the event of a tab that is woken; a
        machine that has slept sends none.
        """
        await self.session.send("Debugger.enable")
        await self.session.send("Debugger.pause")
        await asyncio.sleep(seconds)
        await self.session.send("Debugger.disable")
        if is_told:
            await self.page.evaluate("document.dispatchEvent(new Event('resume'))")

    async def set_offline(self, *, is_offline: bool) -> None:
        conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        await self.session.send(
            "Network.emulateNetworkConditions", {"offline": is_offline, **conditions}
        )

    async def heap_mib(self) -> float:
        """The heap of the page's scripts, after garbage collection."""
        await self.session.send("HeapProfiler.collectGarbage")
        used = await self.session.send("Runtime.getHeapUsage")
        return float(used["usedSize"]) / 1024 / 1024

    async def roll_back(self) -> tuple[list[tuple[int, str]], bool]:
        """Scroll to the top of what is loaded: what is shown then, and whether it begins there."""
        is_start = await self.page.evaluate(ROLL_BACK)
        return (await self.stand()).shown, bool(is_start)

    async def to_newest(self) -> None:
        """Press the button that is there where one is not at the newest message."""
        await self.page.evaluate(TO_NEWEST)


async def open_tab(context: BrowserContext, name: str) -> Person:
    """Open a tab in a browser context: tabs of one context are of one account."""
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    person = Person(name, page, session)
    page.on("pageerror", lambda error: person.complaints.append(str(error)))
    return person


async def go(person: Person, address: str) -> None:
    """Go to a conversation; one can write there when this returns."""
    await person.page.goto(address)
    await person.page.get_by_role("textbox", name="Message", exact=True).wait_for()


async def sign_in(person: Person, url: str, email: str, password: str) -> None:
    await submit_login(person.page, url, email, password)
    await person.page.get_by_role("navigation", name="Conversations").wait_for()
