"""Descriptions of topics: written from the topic's menu, and shown at once to its readers."""

import pytest
from playwright.async_api import Locator, expect

from server.domain.access import MODERATOR
from tests.browser.axe import DAY_AND_NIGHT, SETTLE, add_axe, violations
from tests.browser.conftest import STILL, Person, SignIn

pytestmark = pytest.mark.asyncio


def shown(person: Person, language: str = "en") -> Locator:
    names = {"en": "Description of the topic", "ar": "وصف الموضوع"}
    return person.page.get_by_role("region", name=names[language])


async def open_dialog(person: Person, item: str) -> Locator:
    """Open the dialog from the topic's menu, and return its field."""
    await person.page.get_by_role("button", name="Menu of oil", exact=True).click(force=True)
    await person.page.get_by_role("menuitem", name=item).click()
    return person.page.get_by_role("dialog", name="Description of oil").get_by_role("textbox")


async def test_a_topic_is_described_read_and_described_no_more(
    sign_in: SignIn, chat, make, connect
):
    ada_row, bob_row = await make.user("Ada Lovelace", role=MODERATOR), await make.user("Bob")
    channel = await make.channel("engines", subscribers=[ada_row, bob_row])
    topic, now = await make.topic(channel, "oil"), chat.app.clock.now()
    message_id = await make.message(ada_row, topic, content="Black", sent_at=now)
    client = await connect(chat, make.realm_id, bob_row)
    await client.patch("/settings", default_language="ar")
    ada, bob = await sign_in(ada_row, script=SETTLE, **STILL), await sign_in(bob_row)
    feed = f"#narrow/channel/{channel.channel_id}-engines/topic/"
    for person in (ada, bob):
        await person.go(f"{feed}oil")
        await expect(person.message("Black")).to_be_visible()
    await expect(shown(ada)).to_have_count(0)

    field = await open_dialog(ada, "Describe topic")
    await expect(field).to_be_focused()
    await add_axe(ada.page)
    assert await violations(ada.page, "dialog[open]", DAY_AND_NIGHT) == []
    await field.fill("Which **oil** to use, " + "and when, " * 60)
    await ada.page.get_by_role("button", name="Save", exact=True).click()
    for person, language in ((ada, "en"), (bob, "ar")):
        region = shown(person, language)
        await expect(region).to_contain_text("Which oil to use")
        await expect(region.locator("strong")).to_have_count(0)
        line = await region.bounding_box()
        await person.page.set_viewport_size({"width": 360, "height": 640})
        toggle = region.get_by_role("button")
        await toggle.focus()
        await person.page.keyboard.press("Enter")
        await expect(toggle).to_have_attribute("aria-expanded", "true")
        await expect(region.locator("strong")).to_have_text("oil")
        whole = await region.bounding_box()
        assert line
        assert whole
        assert whole["height"] > line["height"]
        assert await person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await violations(ada.page, ".topic-description", DAY_AND_NIGHT) == []

    renaming = {"topic": "grease", "propagate_mode": "change_all"}
    await client.patch(f"/messages/{message_id}", **renaming)
    await expect(ada.page).to_have_url(f"{ada.url}/{feed}grease")
    await expect(shown(ada)).to_contain_text("Which oil to use")
    await client.patch(f"/messages/{message_id}", **renaming | {"topic": "oil"})
    await ada.page.set_viewport_size({"width": 1280, "height": 800})
    field = await open_dialog(ada, "Edit description")
    await field.fill("")
    await ada.page.get_by_role("button", name="Save", exact=True).click()
    for person, language in ((ada, "en"), (bob, "ar")):
        await expect(shown(person, language)).to_have_count(0)
