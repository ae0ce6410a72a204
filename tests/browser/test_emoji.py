"""Emoji in what people write."""

import pytest
from playwright.async_api import expect

from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

pytestmark = pytest.mark.asyncio


async def test_a_skin_tone_is_chosen_and_remembered(chat: Server, make: Make, sign_in: SignIn):
    channel, ada = await make.channel("engines"), await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    person = await sign_in(ada)
    page = person.page
    place = f"#narrow/channel/{channel.channel_id}-engines/topic/notes"
    await person.go(place)
    picker = page.get_by_role("dialog", name="Choose an emoji")
    box = page.get_by_role("textbox", name="Message")
    await page.get_by_role("button", name="Emoji", exact=True).click()
    await expect(picker.get_by_role("radio", name="No skin tone")).to_be_checked()
    await picker.get_by_title("Medium skin tone", exact=True).click()
    await picker.get_by_role("button", name=":+1:").first.click()
    await expect(box).to_have_value("👍🏽 ")
    await page.get_by_role("button", name="Send", exact=True).click()
    message = person.message("👍🏽")
    await expect(message.locator(".is-emoji-only")).to_have_count(1)
    await page.reload()
    await page.get_by_role("button", name="Emoji", exact=True).click()
    await expect(picker.get_by_role("radio", name="Medium skin tone", exact=True)).to_be_checked()
    # What has no tone is written by its name.
    await picker.get_by_role("button", name=":rocket:").first.click()
    await expect(box).to_have_value(":rocket: ")
    await box.fill("")
    await box.press_sequentially(":clap")
    await box.press("Tab")
    await expect(box).to_have_value("👏🏽 ")
    await box.fill("")
    # Reactions have no tones in the protocol.
    await message.hover()
    await message.get_by_role("button", name="React").click()
    await expect(picker.get_by_role("button", name=":+1:").first).to_have_text("👍")
    await expect(picker.get_by_role("radio")).to_have_count(0)
