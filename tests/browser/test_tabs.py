"""Two tabs of one browser."""

import pytest
from playwright.async_api import Locator, Page, expect

from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

pytestmark = pytest.mark.asyncio


async def test_each_of_two_tabs_keeps_what_is_written_in_it(
    chat: Server, make: Make, sign_in: SignIn
):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    person = await sign_in(ada)
    place = f"#narrow/channel/{channel.channel_id}-engines/topic/notes"
    await person.go(place)
    await box(person.page).fill("a draft")
    await person.page.wait_for_timeout(1000)
    other = await person.context.new_page()
    await other.goto(f"{person.url}/{place}")
    await expect(box(other)).to_have_value("a draft")
    await box(person.page).fill("a draft, written on in the first tab")
    # The second tab has not changed it: it follows.
    await expect(box(other)).to_have_value("a draft, written on in the first tab")
    await box(other).fill("something else")
    await person.page.wait_for_timeout(1000)
    await box(person.page).fill("mine")
    await person.page.wait_for_timeout(1000)
    await other.get_by_role("button", name="Send", exact=True).click()
    await expect(person.message("something else")).to_have_count(1)
    await expect(box(person.page)).to_have_value("mine")
    await person.page.reload()
    await expect(box(person.page)).to_have_value("mine")


async def test_a_reload_of_one_tab_leaves_all_connected(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    person = await sign_in(ada)
    place = f"#narrow/channel/{channel.channel_id}-engines/topic/notes"
    await person.go(place)
    other = await person.context.new_page()
    await other.goto(f"{person.url}/{place}")
    await expect(box(other)).to_be_visible()
    for tab in (person.page, other, person.page):
        await tab.reload()
        await expect(box(tab)).to_be_visible()
        await tab.wait_for_timeout(2000)
        for each in (person.page, other):
            await expect(each.get_by_role("status", name="Connection")).to_be_empty()
    await person.write("still here")
    for each in (person.page, other):
        await expect(each.locator("[role=feed] article", has_text="still here")).to_have_count(1)


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message", exact=True)
