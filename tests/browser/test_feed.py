"""The feed: history in both directions, and the place that is held in it."""

import re

import pytest
from playwright.async_api import Locator, expect

from storage.channels import ChannelRow
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import Person, SignIn

pytestmark = pytest.mark.asyncio

MAX_SHOWN = 280
"""As in web/src/views/feed/window.ts."""


def scroller(person: Person) -> Locator:
    return person.page.locator(".feed-scroller")


async def top_of(person: Person, text: str) -> float:
    box = await person.message(text).bounding_box()
    assert box is not None
    return box["y"]


async def channel_with(make: Make, count: int) -> ChannelRow:
    """A channel with a topic of so many messages, without any unread ones."""
    channel = await make.channel("engines")
    topic = await make.topic(channel, "notes")
    writer = await make.user("Grace Hopper")
    await make.subscribe(channel, [writer])
    for number in range(count):
        await make.message(writer, topic, content=f"<p>note {number:04}</p>")
    return channel


async def test_history_is_read_to_its_beginning_and_back(chat: Server, make: Make, sign_in: SignIn):
    channel = await channel_with(make, 700)
    ada = await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    person = await sign_in(ada)
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await expect(person.message("note 0699")).to_be_in_viewport()
    for _ in range(60):
        assert await person.page.locator("[role=feed] > article").count() <= MAX_SHOWN
        if await person.page.get_by_text("This is where it begins.").count():
            break
        await scroller(person).evaluate("(each) => each.scrollBy(0, -4000)")
        await person.page.wait_for_timeout(100)
    await expect(person.page.get_by_text("This is where it begins.")).to_be_attached()
    await expect(person.message("note 0000")).to_have_count(1)
    shown = await person.texts()
    assert shown == [f"note {number:04}" for number in range(len(shown))]
    await person.page.keyboard.press("End")
    await expect(person.message("note 0699")).to_be_in_viewport()
    await person.page.keyboard.press("Home")
    await expect(person.message("note 0000")).to_be_in_viewport()


async def test_a_place_in_history_stays_while_messages_arrive(
    chat: Server, make: Make, sign_in: SignIn
):
    channel = await channel_with(make, 120)
    ada = await make.user("Ada Lovelace")
    emmy = await make.user("Emmy Noether")
    await make.subscribe(channel, [ada, emmy])
    reader, writer = await sign_in(ada), await sign_in(emmy)
    for person in (reader, writer):
        await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
        await expect(person.message("note 0119")).to_be_in_viewport()
    await scroller(reader).hover()
    await reader.page.mouse.wheel(0, -1500)
    newest = reader.page.get_by_role("button", name=re.compile("newest|new message"))
    await expect(newest).to_have_text("Jump to newest")
    # It covers no message.
    end, button = await scroller(reader).bounding_box(), await newest.bounding_box()
    assert end
    assert button
    assert end["y"] + end["height"] <= button["y"]
    seen = await reader.page.locator("[role=feed] > article").evaluate_all(
        "(all) => all.find((each) => each.getBoundingClientRect().top > 200).innerText"
    )
    [text] = re.findall(r"note \d+", seen)
    before = await top_of(reader, text)
    for number in range(3):
        await writer.write(f"news {number}")
        await expect(writer.message(f"news {number}")).to_have_count(1)
    await expect(newest).to_have_text("3 new messages")
    assert abs(await top_of(reader, text) - before) < 2
    await newest.click()
    await expect(reader.message("news 2")).to_be_in_viewport()
    await expect(newest).to_have_count(0)


async def test_the_feed_opens_where_what_is_unread_begins(
    chat: Server, make: Make, sign_in: SignIn
):
    channel = await channel_with(make, 40)
    ada = await make.user("Ada Lovelace")
    emmy = await make.user("Emmy Noether")
    await make.subscribe(channel, [ada, emmy])
    writer = await sign_in(emmy)
    await writer.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    for number in range(30):
        await writer.write(f"news {number:02}")
        await expect(writer.message(f"news {number:02}")).to_have_count(1)
    reader = await sign_in(ada)
    await reader.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    first = reader.message("news 00")
    await expect(first).to_be_in_viewport()
    await expect(first.get_by_text("Unread from here")).to_be_visible()
    await reader.go("#inbox")
    await reader.page.go_back()
    await expect(reader.page.get_by_role("feed", name="Messages")).to_be_visible()
    await reader.page.keyboard.press("End")
    await expect(reader.message("news 29")).to_be_in_viewport()
    conversations = reader.page.get_by_role("navigation", name="Conversations")
    await expect(conversations.get_by_role("link", name=re.compile("^engines, "))).to_have_count(0)


async def test_nothing_leads_to_the_newest_where_all_messages_fit(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace"), await make.user("Grace Hopper")
    channel = await make.channel("engines", subscribers=[ada, grace])
    topic = await make.topic(channel, "notes")
    for number in range(3):
        await make.message(grace, topic, content=f"<p>note {number}</p>")
    person = await sign_in(ada)
    page = person.page
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await expect(page.get_by_text("Unread from here")).to_be_visible()
    await page.evaluate(
        "() => new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))"
    )
    assert await page.locator(".feed-to-newest").count() == 0
