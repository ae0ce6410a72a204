"""Everything can be done without a mouse, and the focus is always somewhere."""

import re
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from testkit.clients.chromium import PATIENCE_MS
from testkit.clients.page_client import PASSWORD
from tests.browser.axe import SETTLE
from tests.browser.conftest import STILL, Person, open_signed_in, show
from tests.browser.furnished import Furnished

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAX_TABS: Final = 120
"""Presses of Tab after which something counts as out of reach."""
HAS_FOCUS: Final = "document.activeElement !== document.body"


class Keyboard:
    """Presses keys, and fails if afterwards nothing has the focus."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)
            await self.page.evaluate("window.settled?.()")
            assert await self.page.evaluate(HAS_FOCUS), f"{key}: the focus is lost"

    async def write(self, text: str) -> None:
        await self.page.keyboard.type(text)

    async def tab_to(self, target: Locator, key: str = "Tab") -> None:
        """Press Tab until this has the focus."""
        await target.wait_for()
        for _ in range(MAX_TABS):
            if await target.evaluate("(each) => each === document.activeElement"):
                return
            await self.page.keyboard.press(key)
        raise AssertionError(f"Tab does not lead to {target}")

    async def opens(self, name: str, *keys: str) -> Locator:
        """Press keys that open the dialog of this name, which takes the focus."""
        await self.press(*keys)
        dialog = self.page.get_by_role("dialog", name=name)
        await dialog.wait_for()
        await expect(dialog.locator(":focus")).to_have_count(1)
        return dialog

    async def closes(self, dialog: Locator, opener: Locator) -> None:
        """Press Escape, which closes the dialog and gives the focus back."""
        await self.press("Escape")
        await expect(dialog).to_have_count(0)
        await expect(opener).to_be_focused()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def signed_in(place: Furnished, chromium: Browser) -> Person:
    return await open_signed_in(chromium, place.url, place.owner, script=SETTLE, **STILL)


@pytest_asyncio.fixture(loop_scope="module")
async def keyboard(signed_in: Person, place: Furnished) -> AsyncIterator[Keyboard]:
    """At the topic, with nothing open."""
    page = signed_in.page
    await show(page, place.topic)
    await page.get_by_role("feed", name="Messages").wait_for()
    await page.locator("main").focus()
    yield Keyboard(page)
    await page.goto("about:blank")
    await page.goto(f"{place.url}/#inbox")
    await page.get_by_role("navigation", name="Conversations").wait_for()
    assert signed_in.complaints == []


async def to_message(keyboard: Keyboard, message_id: int) -> Locator:
    """Move to a message by the keys of the feed."""
    article = keyboard.page.locator(f"[data-message-id='{message_id}']")
    await article.wait_for()
    await keyboard.press("End")
    for _ in range(MAX_TABS):
        if await article.evaluate("(each) => each === document.activeElement"):
            return article
        await keyboard.press("k")
    raise AssertionError("k does not lead to the message")


def message_of(page: Page, text: str) -> Locator:
    return page.get_by_role("feed").get_by_role("article").filter(has_text=text)


async def test_signing_in_and_out(place: Furnished, chromium: Browser):
    context = await chromium.new_context(**STILL)
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    await page.goto(f"{place.url}/login/")
    keyboard = Keyboard(page)
    for name, text in (("username", place.member.email), ("password", PASSWORD)):
        await keyboard.tab_to(page.locator(f"[name={name}]"))
        await keyboard.write(text)
    await page.keyboard.press("Enter")
    account = page.get_by_role("button", name="Account")
    await account.wait_for()
    await keyboard.tab_to(account)
    await keyboard.press("Enter", "ArrowUp")
    await expect(page.get_by_role("menuitem", name="Sign out")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.locator("[name=password]").wait_for()
    await context.close()


async def test_channels_by_palette_and_by_list(keyboard: Keyboard):
    page = keyboard.page
    await keyboard.press("i")
    await keyboard.opens("Go to", "Control+k")
    await keyboard.write("engin")
    await keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("engines")
    await page.get_by_role("article").first.wait_for()
    await keyboard.press("j")
    await expect(page.locator("[data-message-id]:focus")).to_have_count(1)
    plans = page.get_by_role("list", name="Channels").get_by_role("link", name="plans")
    await keyboard.tab_to(plans, "Shift+Tab")
    await keyboard.press("Enter")
    await expect(message_of(page, "For all to read")).to_be_visible()
    await expect(plans).to_be_focused()
    await keyboard.press("j")
    await expect(message_of(page, "For all to read")).to_be_focused()


async def test_reply_and_quote(keyboard: Keyboard, place: Furnished):
    page = keyboard.page
    box = page.get_by_role("textbox", name="Message", exact=True)
    await to_message(keyboard, place.own_message)
    await keyboard.press("r")
    await expect(box).to_be_focused()
    await keyboard.write("A reply")
    await keyboard.press("Control+Enter")
    await expect(message_of(page, "A reply")).to_have_count(1)
    await expect(box).to_be_focused()
    await keyboard.press("Escape")
    await to_message(keyboard, place.own_message)
    await keyboard.press("q")
    await expect(box).to_have_value(re.compile("said.*First", re.DOTALL))
    await expect(box).to_be_focused()
    await box.fill("")


async def test_edit_react_and_star(keyboard: Keyboard, place: Furnished):
    page = keyboard.page
    article = await to_message(keyboard, place.own_message)
    await keyboard.press("e")
    editor = page.get_by_role("textbox", name="Edit message")
    await expect(editor).to_be_focused()
    await keyboard.press("Escape")
    await expect(article).to_be_focused()
    await keyboard.press("e")
    await expect(editor).to_be_focused()
    await keyboard.press("Tab", "Escape")
    await expect(editor).to_have_count(0)
    await expect(article).to_be_focused()
    await keyboard.press("e")
    await expect(editor).to_be_focused()
    await keyboard.write(", again")
    await keyboard.press("Control+Enter")
    await expect(article).to_contain_text("First, again")
    await expect(article).to_be_focused()
    await keyboard.opens("Choose an emoji", "+")
    await keyboard.write("heart")
    await keyboard.press("ArrowDown", "Enter")
    await expect(article.get_by_role("button", name=re.compile("^:.*heart.*:, 1$"))).to_be_visible()
    await expect(article).to_be_focused()
    star = article.get_by_role("img", name="Starred")
    await expect(star).to_be_visible()
    await keyboard.press("*")
    await expect(star).to_have_count(0)


async def test_move_and_delete(keyboard: Keyboard):
    page = keyboard.page
    await keyboard.press("c")
    for text in ("Before it", "To be moved", "To be deleted", "After it"):
        await keyboard.write(text)
        await keyboard.press("Control+Enter")
        await expect(message_of(page, text)).to_have_count(1)
    await keyboard.press("Escape")
    moved = message_of(page, "To be moved")
    await to_message(keyboard, int(str(await moved.get_attribute("data-message-id"))))
    await keyboard.opens("Move messages", "m")
    await keyboard.press("Control+a")
    await keyboard.write("elsewhere")
    one = page.get_by_role("radio", name="This message only")
    await keyboard.tab_to(page.get_by_role("radio", checked=True))
    await keyboard.press("ArrowUp")
    await expect(one).to_be_checked()
    await keyboard.press("Enter")
    await expect(moved).to_have_count(0)
    await keyboard.press("j", "k")
    deleted = message_of(page, "To be deleted")
    await to_message(keyboard, int(str(await deleted.get_attribute("data-message-id"))))
    await keyboard.tab_to(deleted.get_by_role("button", name="Message actions"))
    await keyboard.press("Enter", "End")
    await expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    question = await keyboard.opens("Delete this message?", "Enter")
    await keyboard.tab_to(question.get_by_role("button", name="Delete"))
    await keyboard.press("Enter")
    await expect(deleted).to_have_count(0)
    await expect(page.locator("[data-message-id]:focus")).to_have_count(1)


async def test_selecting_messages(keyboard: Keyboard):
    page = keyboard.page
    await keyboard.press("c")
    for text in ("First of three", "Second of three", "Third of three"):
        await keyboard.write(text)
        await keyboard.press("Control+Enter")
        await expect(message_of(page, text)).to_have_count(1)
    await keyboard.press("Escape")
    first, third = message_of(page, "First of three"), message_of(page, "Third of three")
    await to_message(keyboard, int(str(await third.get_attribute("data-message-id"))))
    await keyboard.press("s", "k", "k", "Shift+S")
    bar = page.get_by_role("region", name="Selected messages")
    await expect(bar.get_by_role("status")).to_have_text("3 messages selected")
    await keyboard.tab_to(first.get_by_role("checkbox"))
    await keyboard.press(" ")
    await expect(bar.get_by_role("status")).to_have_text("2 messages selected")
    await keyboard.press("j", "k", "s")
    await expect(bar.get_by_role("status")).to_have_text("3 messages selected")
    await keyboard.tab_to(bar.get_by_role("button", name="Move"))
    move = await keyboard.opens("Move 3 messages", "Enter")
    await keyboard.closes(move, bar.get_by_role("button", name="Move"))
    await keyboard.tab_to(bar.get_by_role("button", name="Delete"))
    question = await keyboard.opens("Delete 3 messages?", "Enter")
    await keyboard.tab_to(question.get_by_role("button", name="Delete"))
    await keyboard.press("Enter")
    await expect(bar).to_have_count(0)
    await expect(third).to_have_count(0)
    await expect(page.locator("[data-message-id]:focus, .feed-scroller:focus")).to_have_count(1)


async def test_new_conversations(keyboard: Keyboard):
    page = keyboard.page
    box = page.get_by_role("textbox", name="Message", exact=True)
    await keyboard.press("C")
    await expect(page.get_by_role("combobox", name="Topic")).to_be_focused()
    await keyboard.write("by keys")
    await keyboard.press("Enter")
    await expect(box).to_be_focused()
    await keyboard.write("Written by keys")
    await keyboard.press("Control+Enter")
    await keyboard.press("Escape", "x")
    await expect(page.get_by_role("combobox", name="People")).to_be_focused()
    await keyboard.write("grace")
    await keyboard.press("Enter", "Enter")
    await expect(box).to_be_focused()
    await keyboard.write("For Grace")
    await keyboard.press("Control+Enter", "Escape")
    await show(page, "#feed")
    for text in ("Written by keys", "For Grace"):
        await expect(message_of(page, text)).to_have_count(1)


async def test_search(keyboard: Keyboard):
    page = keyboard.page
    await keyboard.press("/")
    await expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    await keyboard.press("Control+a")
    await keyboard.write("waits")
    await keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Search results")
    await page.get_by_role("article").first.wait_for()
    await keyboard.press("j")
    await expect(page.locator("[data-message-id]:focus")).to_have_count(1)
    await keyboard.press("/", "Escape")


async def test_settings(keyboard: Keyboard):
    page = keyboard.page
    account = page.get_by_role("button", name="Account")
    await keyboard.tab_to(account, "Shift+Tab")
    await keyboard.press("Enter")
    settings = await keyboard.opens("Settings", "Enter")
    await keyboard.tab_to(settings.get_by_role("link", name="Appearance"))
    await keyboard.press("Enter")
    theme = settings.get_by_role("combobox", name="Theme")
    await keyboard.tab_to(theme)
    await keyboard.press("ArrowDown")
    await expect(page.locator(":root")).to_have_attribute("data-theme", "light")
    await keyboard.press("ArrowUp")
    await expect(page.locator(":root")).not_to_have_attribute("data-theme", "light")
    await keyboard.closes(settings, account)


async def test_channel_and_invitation(keyboard: Keyboard):
    page = keyboard.page
    await keyboard.opens("Go to", "Control+k")
    await keyboard.write("Browse ch")
    browse = await keyboard.opens("Channels", "Enter")
    await keyboard.tab_to(browse.get_by_role("link", name="Create channel"))
    create = await keyboard.opens("Create channel", "Enter")
    await expect(create.get_by_role("textbox", name="Name")).to_be_focused()
    await keyboard.write("made by keys")
    await keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("made by keys")
    await show(page, "#organization/invitations")
    organization = page.get_by_role("dialog", name="Organization")
    await keyboard.tab_to(organization.get_by_role("button", name="Create link"))
    await keyboard.press("Enter")
    await expect(organization.get_by_role("textbox", name="New invitation link")).to_be_visible()
    revoke = organization.get_by_role("button", name="Revoke Link")
    count = await revoke.count()
    await keyboard.tab_to(revoke.first)
    await keyboard.press("Enter")
    question = page.get_by_role("dialog", name="Revoke Link?")
    await keyboard.tab_to(question.get_by_role("button", name="Revoke", exact=True))
    await keyboard.press("Enter")
    await expect(revoke).to_have_count(count - 1)
    await keyboard.press("Tab")
    await expect(organization.locator(":focus")).to_have_count(1)


async def test_dialogs_keep_the_focus(keyboard: Keyboard):
    page = keyboard.page
    await keyboard.press("j")
    message = page.locator("[data-message-id]:focus")
    message_id = await message.get_attribute("data-message-id")
    dialog = await keyboard.opens("Keys", "?")
    for key in ("Tab", "Tab", "Tab", "Shift+Tab", "Shift+Tab"):
        await page.keyboard.press(key)
        # Tab may lead out of the page, to the browser.
        assert await page.evaluate("document.activeElement.matches('dialog *, body')")
    await keyboard.closes(dialog, page.locator(f"[data-message-id='{message_id}']"))


async def test_escape_closes_one_layer_at_a_time(keyboard: Keyboard, place: Furnished):
    page = keyboard.page
    box = page.get_by_role("textbox", name="Message", exact=True)
    await keyboard.press("c")
    await keyboard.write("@gra")
    options = page.locator(".compose-text [role=option]")
    await options.first.wait_for()
    await keyboard.press("Escape")
    await expect(options).to_have_count(0)
    await expect(box).to_be_focused()
    await keyboard.tab_to(page.get_by_role("button", name="Saved snippets"))
    snippets = await keyboard.opens("Saved snippets", "Enter")
    await keyboard.tab_to(snippets.get_by_role("button", name="New snippet"))
    await keyboard.opens("New saved snippet", "Enter")
    await keyboard.press("Escape")
    await expect(snippets).to_have_count(1)
    await keyboard.closes(snippets, box)
    await keyboard.press("Control+a", "Delete", "Escape")
    await expect(page.locator("main")).to_be_focused()
    await show(page, f"#channels/{place.engines.channel_id}/members")
    dialog = page.get_by_role("dialog", name="engines")
    people = dialog.get_by_role("combobox", name="Add people")
    await keyboard.tab_to(people)
    await keyboard.write("l")
    await dialog.get_by_role("option").first.wait_for()
    await keyboard.press("Escape")
    await expect(dialog.get_by_role("option")).to_have_count(0)
    await expect(people).to_be_focused()
    await keyboard.press("Escape")
    await expect(dialog).to_have_count(0)


HANDLED: Final = """
(key) => {
  const target = document.activeElement;
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  return !target.dispatchEvent(event);
}
"""


async def test_the_list_of_keys_is_complete(keyboard: Keyboard, place: Furnished):
    page = keyboard.page
    await keyboard.opens("Keys", "?")
    listed = set(await page.locator("dialog kbd").all_inner_texts())
    await keyboard.press("Escape")
    names = {" ": "Space", "ArrowUp": "↑", "ArrowDown": "↓", "PageUp": "Page up"}
    names |= {"PageDown": "Page down", "Home": "Home", "End": "End", "Enter": "Enter"}
    keys = [*map(chr, range(33, 127)), *names]
    handled = set()
    for key in keys:
        await page.locator(f"[data-message-id='{place.own_message}']").focus()
        if not await page.evaluate(HANDLED, key):
            continue
        handled.add(names.get(key, key))
        await page.evaluate("settled()")
        for _ in range(3):
            if await page.locator("dialog[open], .popover, .message-editor").count():
                await page.keyboard.press("Escape")
        await show(page, place.topic)
        await page.locator(f"[data-message-id='{place.own_message}']").wait_for()
    alone = {each for each in listed if "Ctrl" not in each} - {"Esc"}
    assert handled == alone
