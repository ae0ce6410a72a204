"""Pinned topics and messages: pinned by a moderator, seen at once by others, found and unpinned."""

from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, ViewportSize, expect

from server.domain.access import MODERATOR
from storage.channels import ChannelRow
from storage.ids import MessageId
from storage.users import UserRow
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.axe import DAY_AND_NIGHT, HIGH_CONTRAST, SETTLE, add_axe, violations
from tests.browser.conftest import STILL, Person, SignIn

pytestmark = pytest.mark.asyncio

PHONE: ViewportSize = {"width": 360, "height": 640}


@dataclass
class Team:
    moderator: UserRow
    member: UserRow
    channel: ChannelRow
    message_ids: list[MessageId]

    @property
    def feed(self) -> str:
        return f"#narrow/channel/{self.channel.channel_id}-engines"


@pytest_asyncio.fixture
async def team(chat: Server, make: Make) -> Team:
    moderator, member = await make.user("Ada Lovelace", role=MODERATOR), await make.user("Bob")
    channel = await make.channel("engines", subscribers=[moderator, member])
    now = chat.app.clock.now()
    sent = []
    for name in ("oil", "rules"):
        topic = await make.topic(channel, name)
        sent += [
            await make.message(moderator, topic, content=f"{name} {n}", sent_at=now)
            for n in range(3)
        ]
    return Team(moderator, member, channel, sent)


def bar(page: Page) -> Locator:
    return page.get_by_role("region", name="Pinned messages")


async def choose(person: Person, text: str, item: str) -> None:
    """Choose an item of a message's menu."""
    message = person.message(text)
    await message.hover()
    await message.get_by_role("button", name="Message actions").click()
    await person.page.get_by_role("menuitem", name=item, exact=True).click()


async def test_a_message_is_pinned_shown_to_others_and_unpinned_by_keys(
    team: Team, sign_in: SignIn
):
    ada, bob = await sign_in(team.moderator), await sign_in(team.member)
    for person in (ada, bob):
        await person.go(team.feed)
        await expect(person.message("rules 1")).to_be_visible()
        await expect(bar(person.page)).to_have_count(0)
    await choose(ada, "rules 1", "Pin message")
    for person in (ada, bob):
        await expect(bar(person.page)).to_contain_text("1 pinned message")
        await expect(person.message("rules 1").get_by_role("img", name="Pinned")).to_be_visible()
    await choose(ada, "oil 2", "Pin message")

    page = ada.page
    await bob.go(f"{team.feed}/topic/rules")
    await expect(bar(bob.page)).to_contain_text("1 pinned message")
    await bob.go(team.feed)
    toggle = bar(page).get_by_role("button", name="2 pinned messages")
    await toggle.focus()
    await page.keyboard.press("Enter")
    await expect(toggle).to_have_attribute("aria-expanded", "true")
    links = bar(page).get_by_role("link")
    await expect(links).to_have_count(2)
    await expect(links.first).to_contain_text("rules 1")
    await page.keyboard.press("Tab")
    await expect(links.first).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(links).to_have_count(1)
    await expect(bar(bob.page)).to_contain_text("1 pinned message")
    await expect(bob.message("rules 1").get_by_role("img", name="Pinned")).to_have_count(0)

    await bob.message("oil 2").hover()
    await bob.message("oil 2").get_by_role("button", name="Message actions").click()
    await expect(bob.page.get_by_role("menuitem", name="Copy link")).to_be_visible()
    await expect(bob.page.get_by_role("menuitem", name="Unpin message")).to_have_count(0)
    await bob.page.keyboard.press("Escape")


async def test_the_list_leads_to_messages_on_a_phone_and_after_a_reload(
    team: Team, sign_in: SignIn, connect, chat, make
):
    client = await connect(chat, make.realm_id, team.moderator)
    for message_id in team.message_ids[:2]:
        (await client.call("PUT", f"/messages/{message_id}/pin")).succeeded()
    bob = await sign_in(team.member)
    page = bob.page
    await page.set_viewport_size(PHONE)
    await bob.go(team.feed)
    await bar(page).get_by_role("button", name="2 pinned messages").click()
    await expect(bar(page).get_by_role("button", name="Unpin message")).to_have_count(0)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await bar(page).get_by_role("link").filter(has_text="oil 0").click()
    await expect(page).to_have_url(f"{bob.url}/{team.feed}/topic/oil/near/{team.message_ids[0]}")
    await expect(bob.message("oil 0")).to_be_visible()
    await bob.go("#narrow/is/pinned")
    await page.reload()
    await expect(bob.message("oil 1")).to_be_visible()
    await expect(bob.message("oil 2")).to_have_count(0)
    (await client.call("DELETE", f"/messages/{team.message_ids[1]}/pin")).succeeded()
    await expect(bob.message("oil 1")).to_have_count(0)
    await expect(bob.message("oil 0")).to_be_visible()


LABELS = {"en": "Pinned messages", "de": "Angeheftete Nachrichten", "ar": "الرسائل المثبتة"}


@pytest.mark.parametrize("language", LABELS)
async def test_the_list_is_accessible_by_day_and_by_night(
    team: Team, sign_in: SignIn, connect, chat, make, language: str
):
    client = await connect(chat, make.realm_id, team.moderator)
    await client.patch("/settings", default_language=language)
    for message_id in team.message_ids[:2]:
        (await client.call("PUT", f"/messages/{message_id}/pin")).succeeded()
    ada = await sign_in(team.moderator, script=SETTLE, **STILL)
    page = ada.page
    await page.set_viewport_size(PHONE)
    await ada.go(team.feed)
    await add_axe(page)
    shown = page.get_by_role("region", name=LABELS[language])
    await shown.get_by_role("button").click()
    await expect(shown.get_by_role("link")).to_have_count(2)
    assert (await page.evaluate("document.dir") == "rtl") is (language == "ar")
    looks = (*DAY_AND_NIGHT, *HIGH_CONTRAST)
    assert await violations(page, ".pinned-bar", looks) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_a_pinned_topic_comes_first(team: Team, sign_in: SignIn):
    ada, bob = await sign_in(team.moderator), await sign_in(team.member)
    for person in (ada, bob):
        await person.go(team.feed)
        topics = person.page.get_by_role("list", name="Topics of engines").get_by_role("link")
        await expect(topics).to_have_text(["rules", "oil"])
    menu = ada.page.get_by_role("button", name="Menu of oil", exact=True)
    await menu.click(force=True)
    await ada.page.get_by_role("menuitem", name="Pin topic").click()
    for person in (ada, bob):
        topics = person.page.get_by_role("list", name="Topics of engines").get_by_role("link")
        await expect(topics).to_have_text(["oil", "rules"])
        await expect(topics.first.get_by_title("Pinned")).to_be_visible()
    await menu.click(force=True)
    await ada.page.get_by_role("menuitem", name="Unpin topic").click()
    topics = bob.page.get_by_role("list", name="Topics of engines").get_by_role("link")
    await expect(topics).to_have_text(["rules", "oil"])
