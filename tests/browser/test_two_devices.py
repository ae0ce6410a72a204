"""What one user does on two devices, and where links lead after things have moved."""

import re

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from storage.users import UserRow
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import Person, SignIn
from tests.browser.test_flows import choose, dialog

pytestmark = pytest.mark.asyncio


def box_of(person: Person) -> Locator:
    return person.page.get_by_role("textbox", name="Message", exact=True)


@pytest_asyncio.fixture
async def place(make: Make):
    """A channel with a user, and the address of a topic in it."""
    channel = await make.channel("engines")
    ada = await make.user("Ada Lovelace")
    await make.subscribe(channel, [ada])
    return ada, f"#narrow/channel/{channel.channel_id}-engines/topic/notes"


async def with_a_draft(sign_in: SignIn, place: tuple[UserRow, str]) -> tuple[Person, Person, str]:
    """Two devices that show the same draft, and the address of its topic."""
    ada, topic = place
    one, other = await sign_in(ada), await sign_in(ada)
    await other.go(topic)
    await one.go(topic)
    await box_of(one).fill("about the engine")
    await expect(box_of(other)).to_have_value("about the engine")
    return one, other, topic


async def test_a_draft_is_gone_where_it_is_shown_when_it_is_sent_elsewhere(
    chat: Server, place, sign_in: SignIn
):
    one, other, topic = await with_a_draft(sign_in, place)
    await box_of(one).fill("all about the engine")
    await expect(box_of(other)).to_have_value("all about the engine")
    await box_of(one).press("Control+Enter")
    await expect(other.message("all about the engine")).to_have_count(1)
    await expect(box_of(other)).to_have_value("")
    await other.go("#drafts")
    await other.go(topic)
    await expect(box_of(other)).to_have_value("")
    drafts = await one.page.evaluate("fetch('/json/drafts').then((answer) => answer.json())")
    assert drafts["drafts"] == []


async def test_a_draft_that_was_changed_here_stays_when_it_is_sent_elsewhere(
    chat: Server, place, sign_in: SignIn
):
    one, other, _topic = await with_a_draft(sign_in, place)
    await other.page.context.set_offline(True)
    await box_of(other).fill("about the engine, and much more")
    await box_of(one).fill("about engines")
    await box_of(one).press("Control+Enter")
    await other.page.context.set_offline(False)
    await expect(other.message("about engines")).to_have_count(1)
    await expect(box_of(other)).to_have_value("about the engine, and much more")
    other.complaints.clear()  # that it was offline


async def test_links_lead_to_where_a_message_was_moved(chat: Server, place, sign_in: SignIn):
    ada, topic = place
    person = await sign_in(ada)
    await person.go(topic)
    await person.write("to be moved")
    await person.write("stays")
    number = await person.message("to be moved").get_attribute("data-message-id")
    await choose(person, "to be moved", "Move")
    await dialog(person).get_by_label("Topic", exact=True).fill("elsewhere")
    await dialog(person).get_by_label("This message only").check()
    await dialog(person).get_by_role("button", name="Move", exact=True).click()
    await person.page.get_by_role("link", name="Go there").click()
    await expect(person.page.get_by_role("heading", name="elsewhere")).to_be_visible()
    await person.go("#inbox")
    await person.go(f"{topic}/near/{number}")
    await expect(person.page.get_by_role("heading", name="elsewhere")).to_be_visible()
    await expect(person.message("to be moved")).to_have_count(1)


async def test_back_closes_a_dialog_with_the_view_below_it(chat: Server, place, sign_in: SignIn):
    ada, topic = place
    person = await sign_in(ada)
    await person.go("#recent")
    await person.go(topic)
    await person.write("here")
    await choose(person, "here", "Delete")
    await expect(dialog(person)).to_be_visible()
    await person.page.go_back()
    await expect(dialog(person)).to_have_count(0)
    await expect(person.page.get_by_role("heading", name="Recent conversations")).to_be_visible()


async def test_the_text_of_an_edit_stays_when_its_message_is_deleted(
    chat: Server, place, sign_in: SignIn
):
    ada, topic = place
    one, other = await sign_in(ada), await sign_in(ada)
    for person in (one, other):
        await person.go(topic)
    await one.write("short")
    await choose(other, "short", "Edit")
    edit = other.page.get_by_role("textbox", name="Edit message")
    await edit.fill("a long text that took an hour")
    await choose(one, "short", "Delete")
    await dialog(one).get_by_role("button", name="Delete").click()
    await other.page.get_by_role("link", name="View drafts").click()
    await expect(other.page.get_by_text("a long text that took an hour")).to_be_visible()


async def test_an_edit_without_text_asks_whether_to_delete(chat: Server, place, sign_in: SignIn):
    ada, topic = place
    person = await sign_in(ada)
    await person.go(topic)
    await person.write("unwanted")
    await choose(person, "unwanted", "Edit")
    await person.page.get_by_role("textbox", name="Edit message").fill(" ")
    await person.page.get_by_role("button", name="Save", exact=True).click()
    await dialog(person).get_by_role("button", name="Delete").click()
    await expect(person.message("unwanted")).to_have_count(0)


async def test_a_filter_can_be_chosen_and_words_written_after_it(
    chat: Server, place, sign_in: SignIn
):
    ada, topic = place
    person = await sign_in(ada)
    await person.go(topic)
    await person.write("the engine starts")
    await person.write("the rest")
    await person.go("#inbox")
    # The view, and with it the search of the view, is another one first.
    await expect(person.page.get_by_role("heading", name="Inbox")).to_be_visible()
    search = person.page.get_by_role("combobox", name="Search")
    await expect(search).to_have_value("")
    await person.page.keyboard.press("/")
    await expect(search).to_be_focused()
    await person.page.keyboard.type("from:ada")
    await expect(person.page.get_by_role("option", name='sender:"Ada Lovelace"')).to_be_visible()
    await person.page.keyboard.press("ArrowDown")
    await person.page.keyboard.press("ArrowDown")
    await person.page.keyboard.press("Enter")
    await expect(person.message("the rest")).to_have_count(1)
    await person.page.keyboard.type(" engine")
    await person.page.keyboard.press("Enter")
    await expect(person.message("the rest")).to_have_count(0)
    await expect(person.message("the engine starts")).to_have_count(1)


async def test_files_are_taken_wherever_they_are_dropped(chat: Server, place, sign_in: SignIn):
    ada, topic = place
    person = await sign_in(ada)
    await person.go(topic)
    await person.write("something")
    taken = await person.page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["a, b"], "table.csv", { type: "text/csv" }));
            const feed = document.querySelector(".feed-scroller");
            return ["dragover", "drop"].map((kind) => !feed.dispatchEvent(
                new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data })));
        }"""
    )
    assert taken == [True, True]
    await expect(box_of(person)).to_have_value(re.compile(r"\[table\.csv\]\(/user_uploads/"))
