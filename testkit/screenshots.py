"""Small pictures for the documents, taken by tests that show the same."""

import asyncio
import os
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.async_api import Locator
from playwright.async_api import Page as BrowserPage

from testkit.clients.browser import Page

VARIABLE: Final = "PARLEY_SCREENSHOTS"
"""Names the folder; without it no pictures are made."""
WIDTH: Final = 760
LEAST_HEIGHT: Final = 10
"""Less than any page has."""
DRAWN_SECONDS: Final = 0.5
"""Time to draw parts that come into sight only then, like the frame of an email."""
COLORS: Final = 48
TERMINAL: Final = """<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 0; background: #12161d; color: #e6e9ef; width: max-content; }}
pre {{ margin: 0; padding: .75rem; font: 11px/1.3 monospace; }}
</style><pre>{}</pre>"""


FIRST_DAY: Final = ("clients", "invitation", "join", "missed", "sign-in", "terminal")
"""Pictures of pages and of a terminal, taken on the way of docs/start.md."""
CHAT: Final = (
    "chat-day",
    "chat-night",
    "chat-phone",
    "compose",
    "conversation",
    "conversations-phone",
    "inbox",
    "organization",
    "settings",
)
"""Pictures of the chat in the browser."""
MAX_BYTES: Final = 150_000
QUALITIES: Final = (85, 75, 60)
"""Tried in turn, for pictures of the chat, until the file is small enough."""


def file_names() -> list[str]:
    """The files that `scripts/make-screenshots` makes."""
    return [*(f"{name}.png" for name in FIRST_DAY), *(f"{name}.webp" for name in CHAT)]


class Screenshots:
    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    async def page(self, page: Page, name: str) -> None:
        """Keep a picture of the whole page, from top to bottom."""
        if self._directory is not None:
            await self._keep(page, name)

    async def terminal(self, page: Page, shown: str, name: str) -> None:
        """Keep a picture of a terminal; the page is another one afterwards."""
        if self._directory is not None:
            page_of_it = self._directory / f"{name}.html"
            page_of_it.write_text(TERMINAL.format(escape(_without_blanks(shown))))
            await page.go(page_of_it.as_uri())
            page_of_it.unlink()
            await self._keep(page, name)

    async def browser(self, page: BrowserPage, name: str, part: Locator | None = None) -> None:
        """Keep a picture of a window of the browser client, or of a part of it."""
        assert name in CHAT
        if self._directory is not None:
            taken = await (part or page).screenshot()
            await asyncio.to_thread(_compress, taken, self._directory / f"{name}.webp")

    async def _keep(self, page: Page, name: str) -> None:
        assert self._directory is not None
        assert name in FIRST_DAY
        await page.ask("Emulation.setScrollbarsHidden", hidden=True)
        await page.look_like(width=WIDTH, height=LEAST_HEIGHT, still=True)
        height = await page.run("document.documentElement.scrollHeight")
        await page.look_like(width=WIDTH, height=height, still=True)
        await asyncio.sleep(DRAWN_SECONDS)
        path = self._directory / f"{name}.png"
        await page.picture(path)
        await page.ask("Emulation.clearDeviceMetricsOverride")
        await asyncio.to_thread(_shrink, path)


def _without_blanks(shown: str) -> str:
    """The text, without the lines that hold only a frame."""
    return "\n".join(line for line in shown.splitlines() if line.strip("│ "))


def _shrink(path: Path) -> None:
    """Few colours are enough for texts, and a tenth of the size."""
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def _compress(taken: bytes, path: Path) -> None:
    with Image.open(BytesIO(taken)) as picture:
        for quality in QUALITIES:
            picture.convert("RGB").save(path, "WEBP", quality=quality, method=6)
            if path.stat().st_size <= MAX_BYTES:
                return


def screenshots() -> Screenshots:
    directory = os.environ.get(VARIABLE)  # noqa: TID251 - not a setting
    return Screenshots(Path(directory) if directory else None)
