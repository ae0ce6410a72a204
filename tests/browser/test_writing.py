"""What is written: in the compose box, and in messages that are edited."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from storage.channels import ChannelRow
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import Person, SignIn

pytestmark = pytest.mark.asyncio

DROP = """
(form, name) => {
  const data = new DataTransfer();
  data.items.add(new File(["cog"], name, { type: "text/plain" }));
  for (const type of ["dragover", "drop"]) {
    const given = { dataTransfer: data, bubbles: true, cancelable: true };
    form.dispatchEvent(new DragEvent(type, given));
  }
}
"""

PASTE = """
(field, text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
}
"""


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Edit message")


def topic_of(channel: ChannelRow) -> str:
    return f"#narrow/channel/{channel.channel_id}-engines/topic/notes"


async def edit(person: Person, text: str) -> Locator:
    """Open the editor of a message by its key."""
    await expect(person.message(text)).to_be_visible()
    await person.message(text).focus()
    await person.page.keyboard.press("e")
    await expect(editor(person.page)).to_be_focused()
    return editor(person.page)


async def test_an_edit_is_completed_and_formatted_as_a_new_message_is(
    chat: Server, make: Make, sign_in: SignIn
):
    ada = await make.user("Ada Lovelace")
    await make.user("Grace Hopper")
    await make.user("غريس هوبر")
    channel = await make.channel("engines", subscribers=[ada])
    person = await sign_in(ada)
    page = person.page
    await person.go(topic_of(channel))
    await person.write("first")
    box = await edit(person, "first")
    await box.fill("")
    await page.keyboard.type("@gra")
    await expect(page.get_by_role("option", name="Grace Hopper")).to_be_in_viewport(ratio=1)
    await page.keyboard.press("Enter")
    await expect(box).to_have_value("@**Grace Hopper** ")
    await page.keyboard.type("@غري")
    await expect(page.get_by_role("option", name="غريس هوبر")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("option")).to_have_count(0)
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("#eng")
    await page.get_by_role("option", name="engines").click()
    await page.keyboard.type(":tad")
    await expect(page.get_by_role("option", name=":tada:")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(box).to_have_value("@**Grace Hopper** @غري\n#**engines** :tada: ")

    await box.fill("/po")
    await expect(page.get_by_role("option")).to_have_count(0)
    await box.fill("cog")
    await box.select_text()
    await page.keyboard.press("Control+b")
    await expect(box).to_have_value("**cog**")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(person.message("cog").locator("strong")).to_have_text("cog")


async def test_files_are_dropped_on_an_edit(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[ada])
    person = await sign_in(ada)
    page = person.page
    await person.go(topic_of(channel))
    await person.write("first")
    box = await edit(person, "first")
    await page.locator(".message-editor").evaluate(DROP, "cog.txt")
    await expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("")
    await expect(page.locator(".message-editor .upload")).to_have_count(0)
    await expect(box).to_have_value(re.compile(r"^first\n\[cog\.txt\]\(/user_uploads/"))
    await page.keyboard.press("Control+Enter")
    await expect(person.message("first").get_by_role("link", name="cog.txt")).to_be_visible()


async def test_arrow_up_edits_the_last_message_of_ones_own(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace"), await make.user("Grace Hopper")
    channel = await make.channel("engines", subscribers=[ada, grace])
    topic = await make.topic(channel, "notes")
    person = await sign_in(ada)
    page = person.page
    await person.go(topic_of(channel))
    await person.write("mine")
    await expect(person.message("mine").locator("a.message-time")).to_be_visible()
    for number in range(150):
        await make.message(grace, topic, content=f"<p>hers {number:03}</p>")
    await page.reload()
    box = page.get_by_role("textbox", name="Message", exact=True)
    await box.fill("something")
    await box.press("ArrowUp")
    await expect(editor(page)).to_have_count(0)
    await box.fill("")
    await box.press("ArrowUp")
    await expect(editor(page)).to_be_focused()
    await expect(editor(page)).to_have_value("mine")
    await editor(page).press("Escape")
    await expect(box).to_be_focused()

    await make.change_settings(allow_message_editing=False)
    await page.reload()
    await expect(box).to_be_visible()
    await box.focus()
    await box.press("ArrowUp")
    await expect(editor(page)).to_have_count(0)
    await expect(box).to_be_focused()


async def test_those_who_may_not_post_are_told_why(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace")
    groups = await make.role_groups()
    channel = await make.channel(
        "engines", subscribers=[ada], can_send_message_group=groups["role:administrators"]
    )
    archived = await make.channel("attic", subscribers=[ada], is_archived=True)
    await make.message(ada, await make.topic(archived, "old"), content="<p>dust</p>")
    person = await sign_in(ada)
    compose = person.page.get_by_role("region", name="Compose")
    await person.go(topic_of(channel))
    await expect(compose).to_contain_text("You do not have permission to post in this channel.")
    await expect(compose.get_by_role("link", name="See who may post")).to_be_visible()
    await expect(compose.get_by_role("textbox")).to_have_count(0)
    send = compose.get_by_role("button", name="Send")
    await expect(send).to_have_attribute("aria-disabled", "true")
    await expect(send).to_have_accessible_description(
        "You do not have permission to post in this channel."
    )
    await person.page.keyboard.press("c")
    await expect(compose.locator(".compose-refused")).to_be_focused()
    await person.go(f"#narrow/channel/{archived.channel_id}-attic/topic/old")
    await expect(compose).to_contain_text("This channel is archived.")
    await expect(compose.get_by_role("textbox")).to_have_count(0)


async def test_a_limit_is_shown_before_it_cuts(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[ada])
    person = await sign_in(ada)
    page = person.page
    await person.go("#channels/new")
    name = page.get_by_role("dialog").get_by_label("Name", exact=True)
    await name.fill("x" * 55)
    await expect(page.get_by_role("dialog")).to_contain_text("5 characters left")
    await name.evaluate(PASTE, "long" * 20)
    await expect(page.get_by_role("dialog")).to_contain_text("The rest was cut off")
    await person.go(f"#narrow/channel/{channel.channel_id}-engines")
    await page.get_by_role("button", name="Discard", exact=True).click()
    topic = page.get_by_role("combobox", name="Topic")
    await topic.fill("م" * 62)
    await expect(page.get_by_role("region", name="Compose")).to_contain_text(
        "2 characters too many: at most 60."
    )


async def test_filters_that_do_not_exist_are_named(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[ada])
    other = await make.channel("other", subscribers=[ada])
    topic = await make.topic(channel, "notes")
    await make.message(ada, topic, content="<p>before the cogs</p>")
    person = await sign_in(ada)
    page = person.page
    search = page.get_by_role("combobox", name="Search")
    await search.fill("cogs before:2026-01-01")
    await expect(page.get_by_role("option").first).to_contain_text("There is no filter “before:”")
    await search.press("Enter")
    note = page.locator("main .search-note")
    await expect(note).to_contain_text("There is no filter “before:”: it is searched for as text.")
    await search.fill('cogs "before:2026-01-01"')
    await search.press("Enter")
    await expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    await expect(note).to_have_count(0)
    await search.fill("channel:nixda cogs")
    await search.press("Enter")
    await expect(page.get_by_text("There is no channel “nixda”, or you do")).to_be_visible()
    person.complaints.clear()  # the browser reports each refused request
    await person.go(f"#narrow/channel/{other.channel_id}")
    await search.click(position={"x": 12, "y": 12})
    await page.keyboard.type("cogs")
    await expect(search).to_have_value("channel:other cogs")
    await page.keyboard.press("Enter")
    await page.get_by_role("link", name="Search everywhere").click()
    await expect(search).to_have_value("cogs ")
    await expect(page.locator(".message-body .highlight")).to_have_text("cogs")
    await person.go(f"#narrow/channel/{channel.channel_id}")
    await expect(person.message("before the cogs")).to_be_visible()
    await expect(page.locator(".message-body .highlight")).to_have_count(0)

    await person.go("#inbox")
    await page.reload()
    await expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    await expect(palette.get_by_role("combobox")).to_be_focused()
    await page.keyboard.type("notes")
    await expect(palette.get_by_role("option")).to_contain_text(["notes"])
    await page.keyboard.type(" on nothing")
    await expect(palette.get_by_text("Nothing found")).to_be_visible()


async def test_blocks_run_as_their_texts_do(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[ada])
    topic = await make.topic(channel, "notes")
    await make.message(ada, topic, content="<blockquote><p>cog</p></blockquote>")
    await make.message(ada, topic, content="<blockquote><p>ترس</p></blockquote>")
    person = await sign_in(ada)
    await person.go(topic_of(channel))
    for direction in ("ltr", "rtl"):
        await person.page.evaluate("dir => { document.documentElement.dir = dir; }", direction)
        for text, side in (("cog", "left"), ("ترس", "right")):
            quotation = person.message(text).locator("blockquote")
            await expect(quotation).to_have_css(f"border-{side}-width", "3px")
            other = "right" if side == "left" else "left"
            await expect(quotation).to_have_css(f"border-{other}-width", "0px")
