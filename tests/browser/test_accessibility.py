"""Every view and dialog keeps the rules of accessibility, by day, by night and in high contrast."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.axe import DAY_AND_NIGHT, HIGH_CONTRAST, SETTLE, add_axe, violations
from tests.browser.conftest import STILL, Person, open_signed_in, show
from tests.browser.furnished import Furnished
from tests.browser.layout import faults

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOURCES: Final = Path(__file__).parents[2] / "web" / "src"
DIALOG: Final = "dialog[open]"
# What the items of a message's menu open; none opens nothing.
OPENED_BY_ACTIONS: Final = {
    "Edit": ".message-editor",
    "Quote and reply": None,
    "Forward": DIALOG,
    "Move": DIALOG,
    "Star": None,
    "Unstar": None,
    "Mark as unread from here": None,
    "Remind me": DIALOG,
    "Copy link": None,
    "Pin message": None,
    "Unpin message": None,
    "Select messages": ".selection-bar",
    "View read receipts": DIALOG,
    "View edit history": DIALOG,
    "Report": DIALOG,
    "Delete": DIALOG,
}


def views() -> list[str]:
    """Return the names of the client's views."""
    found = re.search(r"VIEWS = \[(.*?)\]", (SOURCES / "router.ts").read_text())
    assert found
    return re.findall(r'"(.*?)"', found[1])


def dialogs() -> list[str]:
    """Return the names of the dialogs that have an address."""
    return re.findall(r'case "(.*?)":', (SOURCES / "views" / "dialog-of.tsx").read_text())


def report(problems: list[str]) -> None:
    """Fail with all that was found, a line each."""
    assert not problems, "\n".join(problems)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def signed_in(place: Furnished, chromium: Browser) -> Person:
    """The owner, in a page that axe is in."""
    person = await open_signed_in(chromium, place.url, place.owner, script=SETTLE, **STILL)
    await add_axe(person.page)
    return person


@pytest_asyncio.fixture(loop_scope="module")
async def owner(signed_in: Person) -> AsyncIterator[Person]:
    yield signed_in
    overlays = signed_in.page.locator("dialog[open], .popover")
    while count := await overlays.count():
        await signed_in.page.keyboard.press("Escape")
        # A dialog with an address closes when the browser has gone back.
        await expect(overlays).to_have_count(count - 1)
    assert signed_in.complaints == []


@pytest.mark.parametrize("view", views())
async def test_views(owner: Person, view: str):
    await show(owner.page, f"#{view}")
    await owner.page.locator("main h1").wait_for()
    report(await violations(owner.page))


@pytest.mark.parametrize(
    "narrow", ["topic", "channel", "direct", "is/mentioned", "is/starred", "search/cog"]
)
async def test_feeds(owner: Person, place: Furnished, narrow: str):
    channel = f"#narrow/channel/{place.engines.channel_id}-engines"
    known = {"topic": place.topic, "direct": place.direct, "channel": channel}
    await show(owner.page, known.get(narrow, f"#narrow/{narrow}"))
    await owner.page.get_by_role("feed", name="Messages").wait_for()
    report(await violations(owner.page))


async def sections(page: Page) -> list[str]:
    """Return the addresses of the sections of the dialog that is shown."""
    links = page.locator("dialog[open] nav a[href^='#']")
    return [str(await link.get_attribute("href")) for link in await links.all()]


@pytest.mark.parametrize("dialog", dialogs())
async def test_dialogs_with_addresses(owner: Person, place: Furnished, dialog: str):
    page = owner.page
    own = {
        "channels": [f"channels/{place.engines.channel_id}/general", "channels/new", "channels/0"],
        "groups": [f"groups/{place.group_id}/general"],
        "user": [f"user/{place.member.user_id}", f"user/{place.guest.user_id}"],
    }
    starts = [f"#{each}" for each in own.get(dialog, [])]
    if dialog != "user":
        starts.insert(0, f"#{dialog}")
    seen: list[str] = []
    problems: list[str] = []
    for start in starts:
        await show(page, start)
        await page.locator("dialog[open]").wait_for()
        for address in await sections(page) or [start]:
            if address in seen:
                continue
            seen.append(address)
            await show(page, address)
            problems += [f"{address}: {each}" for each in await violations(page, "dialog[open]")]
    report(problems)


async def open_actions(page: Page, message_id: int) -> None:
    article = page.locator(f"[data-message-id='{message_id}']")
    await article.focus()
    await article.get_by_role("button", name="Message actions").click()
    await page.get_by_role("menu", name="Message actions").wait_for()


async def test_what_the_menu_of_a_message_opens(owner: Person, place: Furnished):
    page, problems = owner.page, []
    await show(page, place.topic)
    # Of the owner and of another: what one may do differs.
    opened = set()
    first = page.get_by_role("feed").get_by_role("article").first
    for message_id in (place.own_message, int(str(await first.get_attribute("data-message-id")))):
        await open_actions(page, message_id)
        problems += await violations(page, ".popover")
        names = await page.get_by_role("menuitem").evaluate_all(
            "(items) => items.map((item) => item.getAttribute('aria-label'))"
        )
        await page.keyboard.press("Escape")
        for name in names:
            await open_actions(page, message_id)
            await page.get_by_role("menuitem", name=name, exact=True).click()
            scope = OPENED_BY_ACTIONS[name]
            if not scope:
                await settle(page)
                continue
            opened.add(name)
            await page.locator(scope).wait_for()
            problems += [f"{name}: {each}" for each in await violations(page, scope)]
            await page.keyboard.press("Escape")
            await page.locator(scope).wait_for(state="detached")
    assert opened == {name for name, scope in OPENED_BY_ACTIONS.items() if scope}
    report(problems)


async def settle(page: Page) -> None:
    """Wait for what a press of a button has begun."""
    await page.evaluate("settled()")


async def test_what_opens_in_the_feed(owner: Person, place: Furnished):
    page, problems = owner.page, []
    await show(page, place.topic)
    spoiler = page.get_by_role("button", name="The end")
    await spoiler.click()
    problems += await violations(page, "main")
    rich = page.get_by_role("article").filter(has=spoiler)
    await rich.focus()
    await rich.get_by_role("button", name="React", exact=True).click()
    await page.get_by_role("dialog", name="Choose an emoji").wait_for()
    problems += await violations(page, ".popover")
    await page.keyboard.press("Escape")
    await rich.locator(".message_inline_image a").click()
    await page.get_by_role("dialog", name="engine.png").wait_for()
    problems += await violations(page, "dialog[open]")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Notifications of this topic").click()
    problems += await violations(page, ".popover")
    await page.keyboard.press("Escape")
    await rich.get_by_role("button", name="Grace Hopper", exact=True).click()
    await page.locator("dialog[open], .popover").wait_for()
    problems += await violations(page, "dialog[open], .popover")
    report(problems)


async def test_compose(owner: Person, place: Furnished):
    page, problems = owner.page, []
    await show(page, place.topic)
    box = page.get_by_role("textbox", name="Message", exact=True)
    region = "section.compose"
    await box.fill("Of all, @Gr")
    await box.press("a")
    await page.locator(".compose-text [role=option]").first.wait_for()
    problems += await violations(page, region)
    await box.fill("Hello @**all** **there**")
    problems += await violations(page, region)
    await page.get_by_role("button", name="Preview").click()
    await page.locator(f"{region} strong").wait_for()
    problems += await violations(page, region)
    await page.get_by_role("button", name="Preview").click()
    for button in ("Schedule", "Saved snippets"):
        await page.get_by_role("button", name=button, exact=True).click()
        await page.locator("dialog[open]").wait_for()
        problems += await violations(page, "dialog[open]")
        if button == "Saved snippets":
            await page.get_by_role("button", name="New snippet").click()
            await page.get_by_role("textbox", name="Title").wait_for()
            problems += await violations(page, "dialog[open]")
            await page.keyboard.press("Escape")
        await page.keyboard.press("Escape")
        await page.locator("dialog[open]").wait_for(state="detached")
    await box.fill("")
    await page.get_by_role("button", name="New direct message").click()
    await page.get_by_role("combobox", name="People").press("g")
    await page.locator(".completions [role=option]").first.wait_for()
    problems += await violations(page, region)
    await page.keyboard.press("Enter")
    problems += await violations(page, region)
    await show(page, "#inbox")
    report(problems)


async def test_search_and_palette(owner: Person):
    page, problems = owner.page, []
    await show(page, "#inbox")
    await page.get_by_role("combobox", name="Search").fill("is:")
    await page.get_by_role("option").first.wait_for()
    problems += await violations(page, "search")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await page.get_by_role("dialog", name="Go to").wait_for()
    problems += await violations(page, "dialog[open]")
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await page.get_by_role("dialog", name="Keys").wait_for()
    problems += await violations(page, "dialog[open]")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Account").click()
    problems += await violations(page, ".popover")
    report(problems)


@pytest_asyncio.fixture(loop_scope="module")
async def narrow(owner: Person) -> AsyncIterator[Page]:
    """The page in a window of a phone, in colours that the system forces."""
    page = owner.page
    size = page.viewport_size
    assert size
    await page.set_viewport_size({"width": 360, "height": 640})
    await page.emulate_media(forced_colors="active")
    yield page
    await page.emulate_media(forced_colors="none")
    await page.set_viewport_size(size)


@pytest.mark.parametrize("view", views())
async def test_views_on_a_phone_in_forced_colors(narrow: Page, view: str):
    await show(narrow, f"#{view}")
    await narrow.locator("main h1").wait_for()
    report(await faults(narrow))


@pytest.mark.parametrize("feed", ["topic", "channel", "direct"])
async def test_feeds_on_a_phone_in_forced_colors(narrow: Page, place: Furnished, feed: str):
    channel = f"#narrow/channel/{place.engines.channel_id}-engines"
    await show(narrow, {"topic": place.topic, "direct": place.direct, "channel": channel}[feed])
    await narrow.get_by_role("feed", name="Messages").wait_for()
    report(await faults(narrow))


async def test_selected_messages_on_a_phone_in_forced_colors(narrow: Page, place: Furnished):
    await show(narrow, place.topic)
    await open_actions(narrow, place.own_message)
    await narrow.get_by_role("menuitem", name="Select messages").click()
    bar = narrow.get_by_role("region", name="Selected messages")
    await expect(bar.get_by_role("status")).to_have_text("1 message selected")
    problems = await faults(narrow)
    await narrow.keyboard.press("Escape")
    await expect(bar).to_have_count(0)
    report(problems)


@pytest.mark.parametrize("side", ["Conversations", "People"])
async def test_sides_on_a_phone_in_forced_colors(narrow: Page, place: Furnished, side: str):
    await show(narrow, place.topic)
    button = narrow.get_by_role("button", name=side, exact=True)
    await button.click()
    problems = await faults(narrow, {"Conversations": ".left", "People": ".right"}[side])
    await narrow.keyboard.press("Escape")
    await expect(button).to_be_focused()
    report(problems)


@pytest.mark.parametrize("dialog", dialogs())
async def test_dialogs_on_a_phone_in_forced_colors(narrow: Page, place: Furnished, dialog: str):
    own = {"user": f"#user/{place.member.user_id}", "channels": "#channels/new"}
    start = own.get(dialog, f"#{dialog}")
    problems: list[str] = []
    await show(narrow, start)
    await narrow.locator("dialog[open]").wait_for()
    for address in await sections(narrow) or [start]:
        await show(narrow, address)
        problems += [f"{address}: {each}" for each in await faults(narrow, "dialog[open]")]
    report(problems)


@pytest.mark.parametrize("side", ["Conversations", "People"])
async def test_narrow_screens(owner: Person, place: Furnished, side: str):
    page, problems = owner.page, []
    size = page.viewport_size
    await page.set_viewport_size({"width": 320, "height": 640})
    await show(page, place.topic)
    problems += await violations(page)
    await page.get_by_role("button", name=side, exact=True).click()
    problems += await violations(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name=side, exact=True)).to_be_focused()
    assert size
    await page.set_viewport_size(size)
    report(problems)


async def test_high_contrast(owner: Person, place: Furnished):
    problems = []
    for fragment in (place.topic, "#settings/appearance"):
        await show(owner.page, fragment)
        problems += await violations(owner.page, looks=HIGH_CONTRAST)
    report(problems)


async def test_forced_colors(owner: Person, place: Furnished):
    page, problems = owner.page, []
    await page.emulate_media(forced_colors="active")
    for fragment in (place.topic, "#settings/appearance"):
        await show(page, fragment)
        # The colours are the system's.
        found = await violations(page, looks=DAY_AND_NIGHT[:1])
        problems += [each for each in found if "color-contrast" not in each]
    await page.emulate_media(forced_colors="none")
    report(problems)


async def test_spectators(place: Furnished, chromium: Browser):
    context = await chromium.new_context(**STILL)
    await context.add_init_script(SETTLE)
    page = await context.new_page()
    await page.goto(f"{place.url}/#narrow/channel/{place.plans.channel_id}-plans")
    await page.get_by_role("feed", name="Messages").wait_for()
    await add_axe(page)
    problems = await violations(page)
    await page.get_by_role("article").first.focus()
    problems += await violations(page, "main")
    await context.close()
    report(problems)


@pytest.mark.parametrize("path", ["/login/", "/accounts/password/reset/", "/clients"])
async def test_pages_without_scripts(place: Furnished, chromium: Browser, path: str):
    context = await chromium.new_context(**STILL)
    await context.add_init_script(SETTLE)
    page = await context.new_page()
    await page.goto(f"{place.url}{path}")
    await add_axe(page)
    problems = await violations(page)
    await context.close()
    report(problems)
