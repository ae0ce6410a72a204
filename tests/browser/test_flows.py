"""What two people do in their browsers, each step seen by the other."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.async_api import FilePayload, Locator, expect

from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import Person, SignIn

pytestmark = pytest.mark.asyncio


async def choose(person: Person, text: str, item: str) -> None:
    """Choose an item of a message's menu."""
    message = person.message(text)
    await message.hover()
    await message.get_by_role("button", name="Message actions").click()
    await person.page.get_by_role("menuitem", name=item, exact=True).click()


def dialog(person: Person) -> Locator:
    return person.page.get_by_role("dialog")


async def test_messages_are_changed_in_front_of_others(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    writer, reader = await sign_in(ada), await sign_in(grace)
    for person in (writer, reader):
        await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await writer.write("first draft")
    await expect(reader.message("first draft")).to_have_count(1)

    await choose(writer, "first draft", "Edit")
    await writer.page.get_by_role("textbox", name="Edit message").fill("second *draft* 中文")
    await writer.page.get_by_role("button", name="Save", exact=True).click()
    await expect(reader.message("second draft 中文")).to_contain_text("edited", ignore_case=True)

    await reader.message("second draft").hover()
    await reader.message("second draft").get_by_role("button", name="React").click()
    await (
        reader.page.get_by_role("textbox", name="Search emoji")
        .or_(reader.page.get_by_role("combobox", name="Search emoji"))
        .or_(reader.page.get_by_role("searchbox", name="Search emoji"))
        .fill("octopus")
    )
    await reader.page.keyboard.press("Enter")
    reaction = writer.message("second draft").get_by_role("button", name=":octopus:, 1")
    await expect(reaction).to_have_attribute("aria-pressed", "false")
    await reaction.click()
    both = reader.message("second draft").get_by_role("button", name=":octopus:, 2")
    await expect(both).to_have_attribute("aria-pressed", "true")

    await choose(reader, "second draft", "Quote and reply")
    box = reader.page.get_by_role("textbox", name="Message", exact=True)
    await expect(box).to_have_value(re.compile("second \\*draft\\* 中文"))
    await reader.page.get_by_role("button", name="Send", exact=True).click()
    await expect(writer.page.locator("[role=feed] blockquote")).to_contain_text("second draft")

    await choose(writer, "edited", "Move")
    await dialog(writer).get_by_label("Topic", exact=True).fill("plans / Pläne")
    await dialog(writer).get_by_label("All messages of the topic").check()
    await dialog(writer).get_by_role("button", name="Move", exact=True).click()
    # Both follow the topic.
    for person in (writer, reader):
        await expect(person.page.get_by_role("heading", name="plans / Pläne")).to_be_visible()
        await expect(person.page.locator("[role=feed] blockquote")).to_have_count(1)

    await choose(writer, "edited", "Delete")
    await dialog(writer).get_by_role("button", name="Delete").click()
    await expect(reader.message("edited")).to_have_count(0)


async def test_a_file_is_sent_found_and_read(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    writer, reader = await sign_in(ada), await sign_in(grace)
    await writer.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await reader.go("#inbox")
    async with writer.page.expect_file_chooser() as chosen:
        await writer.page.get_by_role("button", name="Attach files").click()
    await (await chosen.value).set_files(
        FilePayload(name="отчёт.txt", mimeType="text/plain", buffer=b"a bird's eye view")
    )
    box = writer.page.get_by_role("textbox", name="Message", exact=True)
    await expect(box).to_have_value(re.compile(r"\[отчёт\.txt\]\(/user_uploads/"))
    attached = writer.page.get_by_role("list", name="Attached files")
    await expect(attached.get_by_role("link", name="отчёт.txt")).to_be_visible()
    whole = await box.input_value()
    await attached.get_by_role("button", name="Remove отчёт.txt").click()
    await expect(box).to_have_value("")
    await expect(attached).to_have_count(0)
    await expect(box).to_be_focused()
    await box.fill(whole)
    await writer.page.get_by_role("button", name="Send", exact=True).click()
    await expect(writer.message("отчёт.txt")).to_have_count(1)

    search = reader.page.get_by_role("combobox", name="Search")
    await search.fill("has:attachment")
    await search.press("Enter")
    await expect(reader.message("отчёт.txt")).to_have_count(1)
    address = (
        await reader.message("отчёт.txt")
        .get_by_role("link", name="отчёт.txt")
        .get_attribute("href")
    )
    answer = await reader.context.request.get(f"{reader.url}{address}")
    assert await answer.body() == b"a bird's eye view"


async def test_an_administrator_invites_and_signs_out(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace", role=100)
    person = await sign_in(ada)
    await person.go("#settings/profile")
    await dialog(person).get_by_label("Name", exact=True).fill("Ada King")
    await dialog(person).get_by_role("button", name="Save").first.click()
    await expect(dialog(person).get_by_text("Saved").first).to_be_visible()
    await person.page.keyboard.press("Escape")
    await person.go("#organization/invitations")
    await dialog(person).get_by_role("button", name="Create link").click()
    link = await dialog(person).get_by_label("New invitation link").input_value()
    await person.page.keyboard.press("Escape")
    await person.page.get_by_role("button", name="Account").click()
    await person.page.get_by_role("menuitem", name="Sign out").click()
    await person.page.wait_for_url(re.compile("/login"))
    await person.go("#inbox")
    await person.page.wait_for_url(re.compile("/login"))
    await person.page.goto(person.url + urlsplit(link).path)
    await expect(person.page.get_by_text("Analytical Engines").first).to_be_visible()
    person.complaints.clear()


async def test_new_users_take_the_tour_once(chat: Server, make: Make, sign_in: SignIn):
    person = await sign_in(await make.user("Ada Lovelace"))
    await person.go("#inbox")
    tour = person.page.get_by_role("region", name="Tour")
    await expect(tour).to_contain_text("1 of 3")
    await tour.get_by_role("button", name="Continue").click()
    await tour.get_by_role("button", name="Continue").click()
    await expect(tour).to_contain_text("3 of 3")
    await expect(person.page.locator(".search-box.tour-target")).to_have_count(1)
    await tour.get_by_role("button", name="Done").click()
    await expect(tour).to_have_count(0)
    await person.page.reload()
    await expect(person.page.get_by_role("heading", name="Inbox")).to_be_visible()
    await expect(tour).to_have_count(0)
    await expect(person.page.locator(".tour-target")).to_have_count(0)
