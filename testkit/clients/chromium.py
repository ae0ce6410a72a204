"""A real Chromium for the browser client, and signing in to it by the form."""

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, async_playwright

from testkit.test_services import BROWSERS

PATIENCE_MS = 30_000
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@asynccontextmanager
async def chromium(names: Sequence[str] = BROWSERS, *options: str) -> AsyncIterator[Browser]:
    """Launch the first of these programs that is installed."""
    program = next(found for name in names if (found := shutil.which(name)))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=[*OPTIONS, *options]
        )
        yield browser
        await browser.close()


async def submit_login(page: Page, url: str, email: str, password: str) -> None:
    """Fill in and send the form of the login page; what follows is not waited for."""
    await page.goto(f"{url}/login/")
    await page.fill("[name=username]", email)
    await page.fill("[name=password]", password)
    await page.press("[name=password]", "Enter")
