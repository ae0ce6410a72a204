"""The server is killed while two people write to each other."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from testkit.clients.chromium import PATIENCE_MS, submit_login
from testkit.clients.parley_run import Run
from tests.browser.conftest import Person

pytestmark = pytest.mark.asyncio


async def open_person(browser: Browser, run: Run, email: str, password: str) -> Person:
    context = await browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    url = f"http://localhost:{run.port}"
    await submit_login(page, url, email, password)
    await page.get_by_role("navigation", name="Conversations").wait_for()
    await page.goto(f"{url}/#narrow/channel/1-general/topic/lifts")
    return Person(None, context, page, url)  # type: ignore[arg-type]


async def test_a_killed_server_loses_and_doubles_nothing(browser: Browser, data: Path):
    run = Run(data)
    one = await open_person(browser, run, run.owner, run.password)
    other = await open_person(browser, run, run.owner, run.password)
    await one.write("before")
    await expect(other.message("before")).to_have_count(1)
    run.process.kill()
    run.process.wait()
    await one.write("while nothing answered")
    await expect(other.page.get_by_role("status", name="Connection")).not_to_be_empty()
    Run(data, "--port", str(run.port))
    await expect(other.message("while nothing answered")).to_have_count(1)
    await other.write("after")
    await expect(one.message("after")).to_have_count(1)
    await expect(one.page.get_by_role("status", name="Connection")).to_be_empty()
    assert await one.texts() == await other.texts()
    assert await one.texts() == ["before", "while nothing answered", "after"]
