"""The reference of the API in a real browser: on a phone and a desk, by keyboard, by outline."""

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio

from testkit.clients.browser import CONTRAST, Page
from testkit.clients.server import Server, serve

pytestmark = pytest.mark.asyncio

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
OUTLINE = "[...document.querySelectorAll('h1,h2,h3,h4')].map((each) => +each.tagName[1])"
UNNAMED = """
[...document.querySelectorAll('input, button, a, pre[tabindex], section, nav')].filter((each) => {
  const label = each.getAttribute('aria-label') || each.labels?.[0]?.textContent
    || document.getElementById(each.getAttribute('aria-labelledby'))?.textContent;
  return !(label || (each.matches('a, button, pre#shell') && each.textContent)).trim();
}).map((each) => each.outerHTML)
"""
SMALL = """
[...document.querySelectorAll('.areas a, form input, form button')]
  .filter((each) => each.getBoundingClientRect().height < 24).map((each) => each.outerHTML)
"""
"""What is too small for a finger (WCAG 2.5.8)."""


@pytest_asyncio.fixture
async def server(database, database_url: str, make) -> AsyncIterator[Server]:
    """A server at which every address is the organization's: a browser cannot choose a host."""
    await make.connection.execute(
        "UPDATE realms SET subdomain = '', name = 'Analytical Engines' WHERE realm_id = %(id)s",
        id=make.realm_id,
    )
    async with serve(database_url, root_domain=None) as running:
        yield running


@pytest.mark.parametrize("mode", ["light", "dark"])
async def test_the_reference_can_be_read_on_a_desk_and_on_a_phone(
    server: Server, page: Page, mode: str, tmp_path: Path
):
    places = {
        "index": "/api",
        "found": "/api?q=message",
        "nothing": f"/api?q={'x' * 100}",
        "send": "/api/messages_send_message",
        "realm": "/api/realm_change",
        "drafts": "/api/drafts_create",
        "upload": "/api/tus_create",
    }
    for name, place in places.items():
        await page.go(server.url + place)
        for width in (390, 1280):
            await page.look_like(width=width, dark=mode == "dark", still=True)
            await page.picture(tmp_path / f"{name}-{mode}-{width}.png")
            assert await page.run(CONTRAST) == [], name
            assert await page.run(WIDER) == 0, (name, width)
            assert await page.run(SMALL) == [], name
        levels = await page.run(OUTLINE)
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert await page.run(UNNAMED) == [], name
    assert page.complaints == []


async def test_an_operation_is_found_by_keyboard(server: Server, page: Page):
    await page.go(f"{server.url}/api")
    for _ in range(3):  # the way past the header, to the search
        await page.press("Tab")
    await page.until("document.activeElement.id == 'q'")
    await page.write("add a reaction")
    await page.press("Enter")
    await page.loaded()
    assert "found" in await page.text("[role=status]")
    await page.follow(".operations a")
    assert await page.text("h1") == "Add a reaction"
    assert "/reactions" in await page.text("#curl")
    await page.follow("nav[aria-label] a")
    assert await page.text("h1") == "API reference"
    assert page.complaints == []
