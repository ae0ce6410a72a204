"""The conversations on the left: their menus, and what spectators see of them."""

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from server.domain.access import GUEST, OWNER
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import Person, SignIn, show
from tests.browser.furnished import Furnished

pytestmark = pytest.mark.asyncio


def conversations(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Conversations")


def menu(page: Page) -> Locator:
    return page.get_by_role("menu")


async def items(person: Person) -> list[str]:
    await expect(menu(person.page)).to_be_visible()
    return [
        str(await each.get_attribute("aria-label"))
        for each in await menu(person.page).locator("[role^=menuitem]").all()
    ]


async def test_a_topic_is_changed_by_its_menu(chat: Server, make: Make, sign_in: SignIn):
    owner, member = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    channel = await make.channel("engines", subscribers=[owner, member])
    topic = await make.topic(channel, "notes")
    for text in ("one", "two"):
        await make.message(member, topic, content=f"<p>{text}</p>")
    person = await sign_in(owner)
    page = person.page
    await person.go("#inbox")
    await conversations(page).get_by_role("button", name="Topics of engines").click(force=True)
    link = conversations(page).get_by_role("link", name="notes")
    await expect(link).to_be_visible()

    # By the keys that stand for a right click, where the focus is.
    await link.focus()
    await page.keyboard.press("Shift+F10")
    assert "Rename topic" in await items(person)
    await page.keyboard.press("Escape")
    await expect(link).to_be_focused()

    await link.click(button="right")
    await menu(page).get_by_role("menuitemradio", name="Follow").click()
    await expect(conversations(page).locator(".followed")).to_be_visible()

    await conversations(page).get_by_role("button", name="Menu of notes").click(force=True)
    await menu(page).get_by_role("menuitem", name="Rename topic").click()
    await page.get_by_role("dialog").get_by_label("Topic").fill("ملاحظات")
    await page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    renamed = conversations(page).get_by_role("link", name="ملاحظات")
    await expect(renamed).to_be_visible()
    await expect(conversations(page).get_by_role("link", name="notes")).to_have_count(0)

    await renamed.click(button="right")
    await menu(page).get_by_role("menuitem", name="Delete topic").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(renamed).to_have_count(0)


async def test_menus_offer_what_is_permitted(chat: Server, make: Make, sign_in: SignIn):
    guest, member = await make.user("Ada Lovelace", role=GUEST), await make.user("Grace Hopper")
    channel = await make.channel("engines", subscribers=[guest, member])
    await make.message(member, await make.topic(channel, "notes"), content="<p>one</p>")
    person = await sign_in(guest)
    page = person.page
    await person.go(f"#narrow/channel/{channel.channel_id}-engines")
    await conversations(page).get_by_role("link", name="notes").click(button="right")
    assert {"Delete topic", "Move topic"}.isdisjoint(await items(person))
    await page.keyboard.press("Escape")
    row = conversations(page).get_by_role("link", name="engines", exact=True)
    await row.click(button="right")
    await menu(page).get_by_role("menuitem", name="Pin channel").click()
    await expect(conversations(page).get_by_role("heading", name="Pinned")).to_be_visible()
    # A guest who leaves may not read the channel any more.
    await show(page, "#inbox")
    await row.click(button="right")
    await menu(page).get_by_role("menuitem", name="Unsubscribe").click()
    await expect(row).to_have_count(0)


@pytest.mark.parametrize("by", ["leaving", "removal"])
async def test_a_guest_who_is_no_longer_in_a_channel_asks_for_nothing_there(
    chat: Server, make: Make, sign_in: SignIn, by: str
):
    guest, owner = await make.user("Ada Lovelace", role=GUEST), await make.user("Bob", role=OWNER)
    channel = await make.channel("engines", subscribers=[guest, owner])
    await make.message(owner, await make.topic(channel, "notes"), content="<p>one</p>")
    person = await sign_in(guest)
    page = person.page
    refused: list[str] = []
    page.on("response", lambda each: refused.append(each.url) if each.status >= 400 else None)
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await expect(person.message("one")).to_be_visible()
    client = Client(chat, await chat.host_of(make.realm_id), owner.email, owner.api_key, owner)
    if by == "removal":
        await client.delete(
            "/users/me/subscriptions", subscriptions=["engines"], principals=[guest.user_id]
        )
    else:
        row = conversations(page).get_by_role("link", name="engines", exact=True)
        await row.click(button="right")
        await menu(page).get_by_role("menuitem", name="Unsubscribe").click()
    await expect(page.get_by_role("main")).to_contain_text("You do not see this channel.")
    await expect(page.get_by_role("region", name="Compose").get_by_role("textbox")).to_have_count(0)
    # What is asked for meanwhile is answered before this.
    await client.post(
        "/users/me/subscriptions",
        subscriptions=[{"name": "engines"}],
        principals=[guest.user_id],
    )
    await expect(person.message("one")).to_be_visible()
    assert refused == []


async def test_a_private_channel_that_one_may_not_read_says_so_and_is_not_asked_for(
    chat: Server, make: Make, sign_in: SignIn
):
    owner, other = await make.user("Ada Lovelace", role=OWNER), await make.user("Bob")
    channel = await make.channel(
        "secrets", subscribers=[other], invite_only=True, shares_history=True
    )
    await make.message(other, await make.topic(channel, "notes"), content="<p>one</p>")
    person = await sign_in(owner)
    page = person.page
    await person.go("#inbox")
    await expect(conversations(page)).to_be_visible()
    refused: list[str] = []
    page.on("response", lambda each: refused.append(each.url) if each.status >= 400 else None)
    await show(page, f"#narrow/channel/{channel.channel_id}-secrets/topic/notes")
    await expect(page.get_by_role("main")).to_contain_text("Only subscribers read this channel")
    client = Client(chat, await chat.host_of(make.realm_id), other.email, other.api_key, other)
    await client.post(
        "/users/me/subscriptions", subscriptions=[{"name": "secrets"}], principals=[owner.user_id]
    )
    await expect(person.message("one")).to_be_visible()
    assert refused == []


@pytest.mark.asyncio(loop_scope="module")
async def test_spectators_see_what_is_public_to_the_web(place: Furnished, chromium: Browser):
    context = await chromium.new_context()
    page = await context.new_page()
    await page.goto(f"{place.url}/#inbox")
    feed = page.get_by_role("feed", name="Messages")
    await expect(feed.get_by_role("article").filter(has_text="For all to read")).to_be_visible()
    left = conversations(page)
    await expect(left.get_by_role("list", name="Views").get_by_role("link")).to_have_text(
        ["Combined feed"]
    )
    channels = left.get_by_role("list", name="Channels")
    await expect(channels.get_by_role("link", name="plans", exact=True)).to_be_visible()
    await expect(channels.get_by_role("link", name="engines")).to_have_count(0)
    for name in ("Account", "New direct message", "New topic", "React", "People"):
        await expect(page.get_by_role("button", name=name)).to_have_count(0)
    await expect(left.get_by_role("link", name="Sign in", exact=True)).to_be_visible()
    await feed.get_by_role("button", name="Message actions").first.click(force=True)
    await expect(menu(page).get_by_role("menuitem")).to_have_count(1)
    await expect(menu(page).get_by_role("menuitem", name="Copy link")).to_be_visible()
    await page.keyboard.press("Escape")
    for fragment in ("#settings/profile", "#channels/available", "#organization"):
        await show(page, fragment)
        await expect(feed).to_be_visible()
        await expect(page.get_by_role("dialog")).to_have_count(0)
    await show(page, "#narrow/is/starred")
    await expect(page.get_by_role("alert")).to_contain_text("Sign in to see these messages")
    await context.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_spectators_read_in_the_language_of_their_browser(
    place: Furnished, chromium: Browser
):
    async with await chromium.new_context(locale="de-AT") as context:
        page = await context.new_page()
        await page.goto(f"{place.url}/#inbox")
        await expect(page.get_by_role("link", name="Anmelden", exact=True)).to_be_visible()
        await expect(page.locator("html")).to_have_attribute("lang", "de")
