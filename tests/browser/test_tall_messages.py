"""Messages that are much taller than the window."""

import pytest
from playwright.async_api import expect

from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

pytestmark = pytest.mark.asyncio


async def test_a_tall_message_is_cut_until_it_is_wanted(chat: Server, make: Make, sign_in: SignIn):
    channel, ada = await make.channel("engines"), await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    person = await sign_in(ada)
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await person.write("\n\n".join(["beginning", *["line"] * 60, "[terminus](https://x.example/)"]))
    tall = person.message("beginning")
    more = tall.get_by_role("button", name="Show more")
    await expect(more).to_have_attribute("aria-expanded", "false")
    cut = await tall.evaluate("each => each.offsetHeight")
    assert cut < 800
    # The rest is there for screen readers and find-in-page.
    await expect(tall).to_contain_text("terminus")
    await person.write("\n".join(["short", *["line"] * 5]))
    await expect(person.message("short").get_by_role("button", name="Show")).to_have_count(0)
    await more.click()
    less = tall.get_by_role("button", name="Show less")
    await expect(less).to_have_attribute("aria-expanded", "true")
    assert await tall.evaluate("each => each.offsetHeight") > 1500
    await less.click()
    await expect(more).to_be_visible()
    assert await tall.evaluate("each => each.offsetHeight") == cut
    # What scrolls to the rest or has the focus there shows all of it, in its place.
    await tall.get_by_role("link", name="terminus").evaluate("each => each.scrollIntoView()")
    await expect(less).to_be_visible()
    assert await tall.locator(".tall-frame").evaluate("each => each.scrollTop") == 0
    await less.click()
    await tall.get_by_role("link", name="terminus").focus()
    await expect(less).to_be_visible()
    await expect(tall.get_by_role("link", name="terminus")).to_be_in_viewport()


async def test_what_is_found_in_a_tall_message_is_shown(chat: Server, make: Make, sign_in: SignIn):
    channel, ada = await make.channel("engines"), await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    person = await sign_in(ada)
    page = person.page
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await person.write("\n\n".join(["beginning", *["line"] * 60, "terminus"]))
    tall = person.message("beginning")
    await expect(tall.get_by_role("button", name="Show more")).to_be_visible()
    # What a search in the page does, and what it finds hidden "until found" it shows.
    await page.evaluate("location.hash += ':~:text=terminus'")
    await expect(tall.get_by_role("button", name="Show less")).to_be_visible()
    await expect(tall.get_by_text("terminus")).to_be_in_viewport()
