"""Several messages of a feed are selected, and moved or deleted together."""

import pytest
from playwright.async_api import Locator, Request, Route, expect

from server.domain.access import ADMINISTRATOR
from storage.channels import ChannelRow
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import Person, SignIn

pytestmark = pytest.mark.asyncio


def address(channel: ChannelRow, topic: str = "notes") -> str:
    return f"#narrow/channel/{channel.channel_id}-engines/topic/{topic}"


async def begin(person: Person, text: str) -> None:
    """Select a message by its menu."""
    message = person.message(text)
    await message.hover()
    await message.get_by_role("button", name="Message actions").click()
    await person.page.get_by_role("menuitem", name="Select messages").click()
    await expect(box(person, text)).to_be_checked()


def box(person: Person, text: str) -> Locator:
    return person.message(text).get_by_role("checkbox")


def bar(person: Person) -> Locator:
    return person.page.get_by_role("region", name="Selected messages")


def dialog(person: Person) -> Locator:
    return person.page.get_by_role("dialog")


async def test_selected_messages_are_moved_and_deleted(chat: Server, make: Make, sign_in: SignIn):
    await make.notification_bot()
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace", role=ADMINISTRATOR)
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    topic = await make.topic(channel, "notes")
    now = chat.app.clock.now()
    for number in range(6):
        await make.message(grace, topic, content=f"<p>note {number}</p>", sent_at=now)
    owner, reader = await sign_in(ada), await sign_in(grace)
    for person in (owner, reader):
        await person.go(address(channel))
        await expect(person.message("note 5")).to_have_count(1)

    await begin(owner, "note 1")
    await box(owner, "note 3").click(modifiers=["Shift"])
    await expect(bar(owner).get_by_role("status")).to_have_text("3 messages selected")
    await box(owner, "note 2").uncheck()
    await expect(bar(owner).get_by_role("status")).to_have_text("2 messages selected")
    await bar(owner).get_by_role("button", name="Move").click()
    await expect(dialog(owner)).to_have_accessible_name("Move 2 messages")
    await dialog(owner).get_by_label("Topic", exact=True).fill("plans")
    await dialog(owner).get_by_role("button", name="Move", exact=True).click()
    for person in (owner, reader):
        for number in (1, 3):
            await expect(person.message(f"note {number}")).to_have_count(0)
        await expect(person.message("note 2")).to_have_count(1)
    await expect(bar(owner)).to_have_count(0)

    await begin(owner, "note 2")
    await box(owner, "note 5").click(modifiers=["Shift"])
    # What another user deletes meanwhile is not selected any more.
    await reader.message("note 4").hover()
    await reader.message("note 4").get_by_role("button", name="Message actions").click()
    await reader.page.get_by_role("menuitem", name="Delete").click()
    await dialog(reader).get_by_role("button", name="Delete").click()
    await expect(bar(owner).get_by_role("status")).to_have_text("2 messages selected")
    await bar(owner).get_by_role("button", name="Delete").click()
    await expect(dialog(owner)).to_have_accessible_name("Delete 2 messages?")
    await dialog(owner).get_by_role("button", name="Cancel").click()
    await expect(bar(owner)).to_have_count(1)
    await bar(owner).get_by_role("button", name="Delete").click()
    await dialog(owner).get_by_role("button", name="Delete").click()
    await expect(bar(owner)).to_have_count(0)
    for person in (owner, reader):
        await expect(person.message("note 5")).to_have_count(0)
        await expect(person.message("note 0")).to_have_count(1)

    await owner.go(address(channel, "plans"))
    await expect(owner.message("note 1")).to_have_count(1)
    await expect(owner.message("moved 2 messages here")).to_have_count(1)


async def test_messages_that_may_not_be_changed_are_left_out(
    chat: Server, make: Make, sign_in: SignIn
):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    topic = await make.topic(channel, "notes")
    now = chat.app.clock.now()
    for sender, text in ((ada, "mine 1"), (grace, "theirs"), (ada, "mine 2")):
        await make.message(sender, topic, content=f"<p>{text}</p>", sent_at=now)
    person = await sign_in(ada)
    await person.go(address(channel))
    await begin(person, "mine 1")
    await box(person, "mine 2").click(modifiers=["Shift"])
    await bar(person).get_by_role("button", name="Delete").click()
    await expect(dialog(person)).to_have_accessible_name("Delete 2 messages?")
    await expect(dialog(person)).to_contain_text("You cannot delete 1 of the selected messages")
    # The organization's rule has changed, and the page does not know it yet: the server refuses.
    refusal = {
        "result": "error",
        "code": "MESSAGES_REFUSED",
        "msg": "Nothing was changed.",
    }
    first = await person.message("mine 1").get_attribute("data-message-id")
    asked: list[str] = []

    async def refuse(route: Route, request: Request) -> None:
        asked.append(request.post_data or "")
        if len(asked) > 1:
            await route.continue_()
            return
        refused = [{"msg": "The time limit has passed", "message_ids": [int(str(first))]}]
        await route.fulfill(status=400, json=refusal | {"refused": refused})

    await person.page.route("**/json/messages/delete", refuse)
    await dialog(person).get_by_role("button", name="Delete").click()
    await expect(dialog(person)).to_have_accessible_name("Delete 1 message?")
    await expect(dialog(person)).to_contain_text("The time limit has passed.")
    await dialog(person).get_by_role("button", name="Delete").click()
    await expect(person.message("mine 2")).to_have_count(0)
    for text in ("mine 1", "theirs"):
        await expect(person.message(text)).to_have_count(1)
    person.complaints.clear()  # of the refusal


async def test_the_selection_ends_with_the_feed_and_by_escape(
    chat: Server, make: Make, sign_in: SignIn
):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    for name in ("notes", "plans"):
        topic = await make.topic(channel, name)
        for number in range(3):
            await make.message(ada, topic, content=f"<p>{name} {number}</p>")
    person = await sign_in(ada)
    page = person.page
    await page.set_viewport_size({"width": 360, "height": 640})
    await person.go(address(channel))
    await person.message("notes 1").focus()
    await page.keyboard.press("s")
    await expect(box(person, "notes 1")).to_be_checked()
    await page.keyboard.press("k")
    await page.keyboard.press("Shift+S")
    checked = page.get_by_role("feed").get_by_role("checkbox", checked=True)
    await expect(checked).to_have_count(2)
    wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("feed").get_by_role("checkbox")).to_have_count(0)
    await page.keyboard.press("s")
    await expect(checked).to_have_count(1)
    await page.evaluate("(to) => { location.hash = to; }", address(channel, "plans"))
    await expect(person.message("plans 0")).to_have_count(1)
    await expect(page.get_by_role("feed").get_by_role("checkbox")).to_have_count(0)
