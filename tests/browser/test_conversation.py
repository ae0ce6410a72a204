"""Two people talk to each other in their browsers."""

import pytest
from playwright.async_api import expect

from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

pytestmark = pytest.mark.asyncio


async def test_messages_arrive_as_they_are_sent(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    one, other = await sign_in(ada), await sign_in(grace)
    for person in (one, other):
        await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await one.write("Hello **Grace**, здравствуйте")
    await expect(other.message("Hello Grace, здравствуйте")).to_have_count(1)
    await other.write("Hello Ada")
    for person in (one, other):
        await expect(person.message("Hello Ada")).to_have_count(1)
    assert await one.texts() == await other.texts() == ["Hello Grace, здравствуйте", "Hello Ada"]


async def test_links_name_what_is_unread(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    reader, writer = await sign_in(ada), await sign_in(grace)
    await reader.go("#inbox")
    await writer.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    for text in ("one", "two"):
        await writer.write(text)
        await expect(writer.message(text)).to_have_count(1)
    conversations = reader.page.get_by_role("navigation", name="Conversations")
    await expect(conversations.get_by_role("link", name="engines, 2 unread")).to_be_visible()
    await expect(reader.page.get_by_role("link", name="notes, 2 unread")).to_have_count(1)


async def test_a_message_that_arrives_below_unread_ones_is_shown(
    chat: Server, make: Make, sign_in: SignIn
):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    reader, writer = await sign_in(ada), await sign_in(grace)
    await writer.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    for text in ("first", "second"):
        await writer.write(text)
        await expect(writer.message(text)).to_have_count(1)
    await reader.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await expect(reader.message("second")).to_be_in_viewport()
    await writer.write("third")
    await expect(reader.message("third")).to_be_in_viewport()


async def test_others_see_that_a_person_is_typing(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [ada, grace])
    reader, writer = await sign_in(ada), await sign_in(grace)
    for person in (reader, writer):
        await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await writer.page.get_by_role("textbox", name="Message", exact=True).fill("hel")
    await expect(reader.page.get_by_text("Grace Hopper is typing")).to_be_visible()
    await expect(writer.page.get_by_text("is typing")).to_have_count(0)
    await writer.page.get_by_role("button", name="Send", exact=True).click()
    await expect(reader.message("hel")).to_have_count(1)
    await expect(reader.page.get_by_text("Grace Hopper is typing")).to_have_count(0)


async def test_the_box_is_ready_for_the_next_message(chat: Server, make: Make, sign_in: SignIn):
    channel = await make.channel("engines")
    topic = await make.topic(channel, "notes")
    ada = await make.user("Ada Lovelace")
    for number in range(40):
        await make.message(ada, topic, content=f"<p>note {number:02}</p>")
    await make.subscribe(channel, [ada])
    person = await sign_in(ada)
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await expect(person.message("note 39")).to_be_in_viewport()
    await person.page.locator(".feed-scroller").hover()
    await person.page.mouse.wheel(0, -2000)
    await expect(person.message("note 39")).not_to_be_in_viewport()

    box = person.page.get_by_role("textbox", name="Message", exact=True)
    await box.fill("sent *once*")
    await person.page.get_by_role("button", name="Preview").click()
    await person.page.get_by_role("button", name="Send", exact=True).dblclick()
    await expect(person.message("sent once")).to_be_in_viewport()
    await expect(box).to_be_focused()
    await expect(person.page.get_by_role("alert")).to_have_count(0)
    await person.page.keyboard.type("next")
    await expect(box).to_have_value("next")
    assert await person.message("sent once").count() == 1

    await box.fill("")
    await person.page.get_by_role("button", name="Send", exact=True).click(force=True)
    await expect(person.page.get_by_role("alert")).to_be_visible()
    await box.fill("something")
    await expect(person.page.get_by_role("alert")).to_have_count(0)
