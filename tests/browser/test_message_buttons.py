"""Buttons of bots' messages: clicked, waited for, answered and replaced."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, Route, expect

from server.events.base import to_users
from server.events.message_buttons import ButtonClickAnswered
from storage.channels import ChannelRow
from storage.ids import MessageId
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.axe import DAY_AND_NIGHT, HIGH_CONTRAST, SETTLE, add_axe, violations
from tests.browser.conftest import STILL, Person, SignIn

pytestmark = pytest.mark.asyncio

YES = {"id": "yes", "label": "Deploy", "style": "primary"}
NO = {"id": "no", "label": "Never mind"}
STOP = {
    "id": "stop",
    "label": "Stop",
    "style": "danger",
    "confirm": {
        "title": "Stop the engine?",
        "text": "It takes an hour to start again.",
        "confirm": "Stop it",
        "deny": "Let it run",
    },
}


@dataclass
class Deployer:
    """A bot that asks in a channel, and whose service answers."""

    chat: Server
    make: Make
    bot: Client
    channel: ChannelRow
    message_id: int = 0

    @property
    def row(self) -> UserRow:
        assert self.bot.user is not None
        return self.bot.user

    async def ask(self, **fields: Any) -> None:
        place = {"type": "channel", "to": self.channel.channel_id, "topic": "notes"}
        given = {"content": "Version 7?", "buttons": [YES, NO, STOP], **fields}
        self.message_id = (await self.bot.post("/messages", **place, **given))["id"]

    async def set(self, *buttons: Any) -> None:
        path = f"/messages/{self.message_id}/buttons"
        (await self.bot.call("PUT", path, buttons=list(buttons))).succeeded()

    async def answer(self, user: UserRow, click_id: str, text: str = "", **fields: Any) -> None:
        """Publish an answer as the processor of clicks does."""
        event = ButtonClickAnswered(
            click_id=click_id,
            message_id=MessageId(self.message_id),
            bot_id=self.row.user_id,
            is_error=fields.get("is_error", False),
            content=text,
            rendered_content=f"<p>{text}</p>" if text else "",
        )

        async def append(tx):
            tx.append(event, to_users(user.user_id))

        await self.chat.app.writers.of(self.make.realm_id).write(append)

    async def opened(self, person: Person) -> Page:
        await person.go(f"#narrow/channel/{self.channel.channel_id}-engines/topic/notes")
        await expect(group(person.page).get_by_role("button")).not_to_have_count(0)
        return person.page


@pytest_asyncio.fixture
async def ada(make: Make) -> UserRow:
    return await make.user("Ada Lovelace")


@pytest_asyncio.fixture
async def deployer(chat: Server, make: Make, ada: UserRow, connect) -> Deployer:
    row = await make.user("Deployer", bot_type=3, bot_owner=ada)
    channel = await make.channel("engines", subscribers=[ada])
    return Deployer(chat, make, await connect(chat, make.realm_id, row), channel)


def group(page: Page) -> Locator:
    return page.get_by_role("feed").get_by_role("group")


def button(page: Page, name: str) -> Locator:
    return group(page).get_by_role("button", name=name, exact=True)


async def clicked(page: Page, name: str) -> str:
    """Click on a button; return the id of the click."""
    async with page.expect_response("**/buttons/click") as response:
        await button(page, name).click()
    return str((await (await response.value).json())["click_id"])


async def test_a_click_waits_for_its_answer(deployer: Deployer, ada: UserRow, sign_in: SignIn):
    await deployer.ask()
    page = await deployer.opened(await sign_in(ada))
    await expect(group(page)).to_have_accessible_name("Buttons of Deployer")
    click_id = await clicked(page, "Deploy")
    await expect(page.get_by_text("Waiting for Deployer …")).to_be_visible()
    for name in ("Deploy", "Never mind", "Stop"):
        await expect(button(page, name)).to_be_disabled()
    await deployer.answer(ada, click_id, "Deploying web.")
    message = page.get_by_role("article").filter(has_text="Version 7?")
    await expect(message).to_contain_text("Only you see this")
    await expect(message).to_contain_text("Deploying web.")
    await expect(page.get_by_text("Waiting for Deployer …")).to_have_count(0)
    await expect(button(page, "Deploy")).to_be_enabled()
    await message.get_by_role("button", name="Close the notice").click()
    await expect(message).not_to_contain_text("Deploying web.")


async def test_an_empty_answer_ends_the_wait(deployer: Deployer, ada: UserRow, sign_in: SignIn):
    await deployer.ask()
    page = await deployer.opened(await sign_in(ada))
    click_id = await clicked(page, "Never mind")
    await expect(button(page, "Deploy")).to_be_disabled()
    await deployer.answer(ada, click_id)
    await expect(button(page, "Deploy")).to_be_enabled()
    await expect(page.get_by_text("Only you see this")).to_have_count(0)


async def test_buttons_are_there_after_a_reload_and_follow_the_bot(
    deployer: Deployer, ada: UserRow, sign_in: SignIn
):
    await deployer.ask()
    page = await deployer.opened(await sign_in(ada))
    await page.reload()
    await expect(button(page, "Deploy")).to_be_visible()
    await button(page, "Deploy").focus()
    await deployer.set({"id": "undo", "label": "Undo"})
    await expect(group(page).get_by_role("button")).to_have_count(1)
    await expect(button(page, "Undo")).to_be_visible()
    # The button with the focus is gone: it is on the message now, and not lost.
    await expect(page.get_by_role("article").filter(has_text="Version 7?")).to_be_focused()
    await deployer.set()
    await expect(group(page)).to_have_count(0)
    await page.reload()
    await expect(page.get_by_role("article").filter(has_text="Version 7?")).to_be_visible()
    await expect(group(page)).to_have_count(0)


async def test_a_question_is_asked_first(deployer: Deployer, ada: UserRow, sign_in: SignIn):
    await deployer.ask()
    page = await deployer.opened(await sign_in(ada))
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    # By keyboard alone.
    await button(page, "Stop").focus()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Stop the engine?")
    await expect(dialog).to_contain_text("It takes an hour to start again.")
    await dialog.get_by_role("button", name="Let it run").click()
    await expect(dialog).to_have_count(0)
    await expect(button(page, "Stop")).to_be_focused()
    assert not [url for url in sent if "buttons/click" in url]
    await page.keyboard.press("Enter")
    # The focus is where Enter does no harm.
    await expect(dialog.get_by_role("button", name="Let it run")).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(dialog.get_by_role("button", name="Stop it")).to_be_focused()
    async with page.expect_response("**/buttons/click"):
        await page.keyboard.press("Enter")
    await expect(page.get_by_text("Waiting for Deployer …")).to_be_visible()
    await expect(button(page, "Stop")).to_be_focused()


async def test_a_refused_click_says_why(deployer: Deployer, ada: UserRow, sign_in: SignIn, connect):
    await deployer.ask()
    person = await sign_in(ada)
    page = await deployer.opened(person)
    owner = await connect(deployer.chat, deployer.make.realm_id, ada)
    await owner.delete(f"/bots/{deployer.row.user_id}")
    await button(page, "Deploy").click()
    await expect(page.get_by_text("The bot of this message is deactivated.")).to_be_visible()
    await expect(button(page, "Deploy")).to_be_enabled()
    person.complaints.clear()  # the browser reports each refused request


async def test_a_click_of_which_the_response_is_lost_is_repeated_as_the_same(
    deployer: Deployer, ada: UserRow, sign_in: SignIn
):
    await deployer.ask()
    person = await sign_in(ada)
    page = await deployer.opened(person)
    given: list[str] = []

    async def lose(route: Route) -> None:
        given.append(str(route.request.post_data))
        if len(given) == 1:
            await route.fetch()
            await route.abort()
        else:
            await route.continue_()

    await page.route("**/buttons/click", lose)
    await button(page, "Deploy").click()
    await expect(button(page, "Deploy")).to_be_enabled()
    click_id = await clicked(page, "Deploy")
    assert given[0] == given[1]
    count = await deployer.make.connection.value(
        "SELECT count(*) FROM button_clicks WHERE realm_id = %(r)s", r=deployer.make.realm_id
    )
    assert count == 1
    await deployer.answer(ada, click_id, "Done.")
    await expect(page.get_by_text("Done.")).to_be_visible()
    person.complaints.clear()  # the browser reports the lost response


async def test_others_see_what_the_bot_makes_of_the_message(
    deployer: Deployer, ada: UserRow, make: Make, sign_in: SignIn, connect
):
    grace = await make.user("Grace Hopper")
    client = await connect(deployer.chat, make.realm_id, grace)
    await client.post("/users/me/subscriptions", subscriptions=[{"name": "engines"}])
    await deployer.ask()
    page = await deployer.opened(await sign_in(grace))
    await deployer.bot.patch(f"/messages/{deployer.message_id}", content="Version 7 is deployed.")
    await deployer.set(STOP)
    await expect(page.get_by_role("article").filter(has_text="is deployed.")).to_be_visible()
    await expect(group(page).get_by_role("button")).to_have_count(1)
    await deployer.answer(ada, "1", "For Ada alone.")
    await deployer.set(STOP, NO)
    await expect(group(page).get_by_role("button")).to_have_count(2)
    await expect(page.get_by_text("For Ada alone.")).to_have_count(0)


async def test_choices_send_their_reply(deployer: Deployer, ada: UserRow, sign_in: SignIn):
    choices = [
        {"type": "multiple_choice", "short_name": "A", "long_name": "All of it", "reply": "all!"},
        {"type": "multiple_choice", "short_name": "ب", "long_name": "بعضه", "reply": "بعضه"},
    ]
    data = {"type": "choices", "heading": "How much?", "choices": choices}
    widget = json.dumps({"widget_type": "zform", "extra_data": data})
    await deployer.ask(buttons=[], widget_content=widget, content="How much? Say it.")
    person = await sign_in(ada)
    await person.go(f"#narrow/channel/{deployer.channel.channel_id}-engines/topic/notes")
    shown = person.page.get_by_role("region", name="Choices")
    await expect(shown).to_contain_text("How much?")
    await expect(shown).to_contain_text("All of it")
    await shown.get_by_role("button", name="A", exact=True).click()
    await expect(person.message("all!")).to_be_visible()
    await shown.get_by_role("button", name="ب").click()
    await expect(person.message("بعضه").last).to_be_visible()


MESSAGE = "[data-message-id]"
LABELS = {
    "en": ("Buttons of Deployer", "Waiting for Deployer …"),
    "de": ("Knöpfe von Deployer", "Warten auf Deployer …"),
    "ar": ("أزرار Deployer", "في انتظار Deployer …"),
}


@pytest.mark.parametrize("language", LABELS)
async def test_all_states_are_accessible_by_day_and_by_night(
    deployer: Deployer, make: Make, sign_in: SignIn, connect, language: str
):
    person = await make.user("Noor", settings={"default_language": language})
    await deployer.ask(buttons=[YES, NO, STOP, {"id": "ar", "label": "نعم " * 12}])
    signed_in = await sign_in(person, script=SETTLE, **STILL)
    page = await deployer.opened(signed_in)
    await add_axe(page)
    name, waiting = LABELS[language]
    await expect(group(page)).to_have_accessible_name(name)
    assert (await page.evaluate("document.dir") == "rtl") is (language == "ar")
    looks = (*DAY_AND_NIGHT, *HIGH_CONTRAST)
    assert await violations(page, MESSAGE, looks) == []
    click_id = await clicked(page, "Deploy")
    await expect(page.get_by_text(waiting)).to_be_visible()
    assert await violations(page, MESSAGE, looks) == []
    await deployer.answer(person, click_id, "It could not.", is_error=True)
    await expect(page.get_by_text("It could not.")).to_be_visible()
    assert await violations(page, MESSAGE, looks) == []
    await button(page, "Stop").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    assert await violations(page, "dialog[open]", looks) == []
