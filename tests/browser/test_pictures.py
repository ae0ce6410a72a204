"""The views of a busy organization, by day and by night, wide and on a phone: for the documents."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize, expect

from storage.database import Database
from testkit.clients.page_client import give_password
from testkit.clients.server import serve
from testkit.factories import Make
from testkit.lively_realm import NAME, LivelyRealm, MovedClock, afternoon, make_lively
from testkit.screenshots import Screenshots, screenshots
from tests.browser.conftest import Person, open_signed_in

pytestmark = pytest.mark.asyncio

WIDE: Final = ViewportSize(width=1280, height=800)
MIDDLE: Final = ViewportSize(width=1000, height=640)
TALL: Final = ViewportSize(width=960, height=1440)
PHONE: Final = ViewportSize(width=360, height=720)
DRAWN_MS: Final = 400
OVERFLOW: Final = "document.scrollingElement.scrollWidth - innerWidth"


@pytest_asyncio.fixture
async def realm(database: Database, database_url: str, make: Make) -> AsyncIterator[LivelyRealm]:
    await make.connection.execute(
        "UPDATE realms SET subdomain = '', name = %(name)s WHERE realm_id = %(id)s",
        name=NAME,
        id=make.realm_id,
    )
    clock = MovedClock(afternoon())
    async with serve(
        database_url, clock=clock, root_domain=None, web_client=None, gravatars=False
    ) as server:
        yield await make_lively(server, make, clock)


@pytest.fixture
def shots() -> Screenshots:
    return screenshots()


async def visit(browser: Browser, realm: LivelyRealm, **options: Any) -> Person:
    """Sign the viewer in, in a browser with the clock at the afternoon of the pictures."""
    await give_password(realm.make, realm.viewer)
    person = await open_signed_in(
        browser,
        f"http://localhost:{realm.server.port}",
        realm.viewer,
        device_scale_factor=2,
        reduced_motion="reduce",
        timezone_id="UTC",
        **options,
    )
    await person.page.clock.set_fixed_time(afternoon())
    await person.page.reload()
    return person


async def settled(page: Page) -> None:
    """Wait for all pictures in sight; nothing may stick out at the side."""
    await page.wait_for_function(
        "[...document.images].every((i) => i.complete || i.loading === 'lazy')"
    )
    await page.wait_for_timeout(DRAWN_MS)
    assert await page.evaluate(OVERFLOW) <= 0


async def show_topic(person: Person, realm: LivelyRealm) -> None:
    await person.go(realm.topic("engineering", "faster tiles"))
    heading = person.page.get_by_role("heading", level=1)
    await expect(heading).to_have_text("engineering › faster tiles")
    await expect(person.message("Thursday it is")).to_be_in_viewport()
    await settled(person.page)


async def show_dialog(person: Person, fragment: str) -> None:
    await person.go(fragment)
    await expect(person.page.get_by_role("dialog")).to_be_visible()
    await settled(person.page)


async def test_a_wide_window_shows_a_working_day(
    browser: Browser, realm: LivelyRealm, shots: Screenshots
):
    person = await visit(browser, realm, viewport=WIDE, color_scheme="light")
    page = person.page
    await show_topic(person, realm)
    await shots.browser(page, "chat-day")
    await person.go("#inbox")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Inbox")
    await settled(page)
    await shots.browser(page, "inbox")
    await show_dialog(person, "#settings/notifications")
    await shots.browser(page, "settings")
    await show_dialog(person, "#organization/permissions")
    await shots.browser(page, "organization")
    await page.set_viewport_size(MIDDLE)
    await show_topic(person, realm)
    box = page.get_by_role("textbox", name="Message", exact=True)
    await box.press_sequentially(
        "The tiles of the coast are next in #**design>night map**. Thanks @"
    )
    await expect(page.get_by_role("option", name="Noor Haddad")).to_be_visible()
    await settled(page)
    await shots.browser(page, "compose")
    await box.fill("")
    await page.set_viewport_size(TALL)
    await show_topic(person, realm)
    await shots.browser(page, "conversation", page.locator("main"))
    assert person.complaints == []


async def test_it_is_shown_by_night(browser: Browser, realm: LivelyRealm, shots: Screenshots):
    person = await visit(browser, realm, viewport=WIDE, color_scheme="dark")
    await show_topic(person, realm)
    await shots.browser(person.page, "chat-night")
    assert person.complaints == []


async def test_it_is_shown_on_a_phone(browser: Browser, realm: LivelyRealm, shots: Screenshots):
    person = await visit(
        browser, realm, viewport=WIDE, color_scheme="light", is_mobile=True, has_touch=True
    )
    await person.page.set_viewport_size(PHONE)
    await show_topic(person, realm)
    await shots.browser(person.page, "chat-phone")
    await person.page.get_by_role("button", name="Conversations").click()
    await expect(person.page.get_by_role("navigation", name="Conversations")).to_be_visible()
    await settled(person.page)
    await shots.browser(person.page, "conversations-phone")
    assert person.complaints == []
