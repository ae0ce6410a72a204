"""Emoji in what people write."""

import pytest
from playwright.async_api import Page, expect

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
    box = page.get_by_role("textbox", name="Message", exact=True)
    await page.get_by_role("button", name="Emoji", exact=True).click()
    await expect(picker.get_by_role("radio", name="No skin tone")).to_be_checked()
    await picker.get_by_title("Medium skin tone", exact=True).click()
    await picker.get_by_role("button", name="+1").first.click()
    await expect(box).to_have_value("👍🏽 ")
    await page.get_by_role("button", name="Send", exact=True).click()
    message = person.message("👍🏽")
    await expect(message.locator(".is-emoji-only")).to_have_count(1)
    await page.reload()
    await page.get_by_role("button", name="Emoji", exact=True).click()
    await expect(picker.get_by_role("radio", name="Medium skin tone", exact=True)).to_be_checked()
    # What has no tone is written by its name.
    await picker.get_by_role("button", name="rocket").first.click()
    await expect(box).to_have_value(":rocket: ")
    await box.fill("")
    await box.press_sequentially(":clap")
    await box.press("Tab")
    await expect(box).to_have_value("👏🏽 ")
    await box.fill("")
    # Reactions have no tones in the protocol.
    await message.hover()
    await message.get_by_role("button", name="React").click()
    await expect(picker.get_by_role("button", name="+1").first).to_have_text("👍")
    await expect(picker.get_by_role("radio")).to_have_count(0)


async def test_emoji_are_drawn_by_the_chosen_set(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[ada])
    person = await sign_in(ada)
    page = person.page
    fonts: list[str] = []
    page.on("response", lambda answer: fonts.append(answer.url) if "woff2" in answer.url else None)
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await person.write("plain")
    await expect(person.message("plain")).to_be_visible()
    await page.wait_for_function("document.styleSheets.length > 1")
    assert fonts == []
    async with page.expect_response("**/*.woff2") as google:
        await person.write("hooray :tada:")
    answer = await google.value
    assert "immutable" in answer.headers["cache-control"]
    emoji = person.message("hooray").locator("span.emoji")
    await expect(emoji).to_have_text("🎉")
    await expect(emoji).to_have_accessible_name(":tada:")

    async with page.expect_response("**/twemoji*.woff2"):
        await choose_set(page, "twitter")
    await choose_set(page, "text")
    await expect(emoji).to_have_text(":tada:")


async def choose_set(page: Page, name: str) -> None:
    done = await page.evaluate(
        """async (name) => {
            const body = new URLSearchParams({ emojiset: name });
            const token = document.cookie.match(/csrftoken=([^;]*)/)?.[1] ?? "";
            const headers = { "X-CSRFToken": token };
            return (await fetch("/json/settings", { method: "PATCH", body, headers })).status;
        }""",
        name,
    )
    assert done == 200


@pytest.mark.parametrize(
    ("language", "typed", "word"), [("de", ":flam", "Flamme"), ("ar", ":نار", "نار")]
)
async def test_emoji_are_found_by_words_of_the_page(
    chat: Server, make: Make, sign_in: SignIn, language: str, typed: str, word: str
):
    noor = await make.user("Noor", settings={"default_language": language})
    channel = await make.channel("engines", subscribers=[noor])
    person = await sign_in(noor)
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    box = person.page.locator(".compose textarea")
    await box.press_sequentially(typed)
    fire = person.page.get_by_role("option").filter(has_text=":fire:")
    await expect(fire).to_contain_text(word)
    await fire.click()
    await expect(box).to_have_value(":fire: ")
    # Names go on being English.
    await box.fill("")
    await box.press_sequentially(":rock")
    await expect(person.page.get_by_role("option").filter(has_text=":rocket:")).to_be_visible()
