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
