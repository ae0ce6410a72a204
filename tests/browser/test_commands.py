"""Slash commands of bots: set up, completed, called, and answered."""

import pytest
from playwright.async_api import expect

from server.events.base import to_users
from server.events.slash_commands import SlashCommandAnswered
from storage import bots
from storage.bots import ServiceRow
from storage.channels import ChannelRow
from storage.users import UserRow
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

pytestmark = pytest.mark.asyncio


async def a_bot(make: Make, owner: UserRow) -> UserRow:
    bot = await make.user("Deployer", bot_type=3, bot_owner=owner)
    service = ServiceRow(
        bot_id=bot.user_id, interface=1, base_url="https://bots.example/run", token="t"
    )
    await bots.insert_service(make.connection, make.realm_id, service)
    return bot


async def answer(
    chat: Server,
    make: Make,
    user: UserRow,
    bot: UserRow,
    channel: ChannelRow,
    call_id: str,
    text: str,
) -> None:
    """Publish an answer as the processor of calls does."""
    event = SlashCommandAnswered(
        call_id=call_id,
        command="deploy",
        bot_id=bot.user_id,
        is_error=False,
        content=text,
        rendered_content=f"<p>{text}</p>",
        stream_id=channel.channel_id,
        topic="notes",
        user_ids=None,
    )

    async def append(tx):
        tx.append(event, to_users(user.user_id))

    await chat.app.writers.of(make.realm_id).write(append)


async def test_a_command_is_set_up_called_and_answered(chat: Server, make: Make, sign_in: SignIn):
    ada = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[ada])
    bot = await a_bot(make, ada)
    person = await sign_in(ada)
    page = person.page
    await person.go("#settings/bots")
    await page.get_by_role("button", name="Settings of Deployer").click()
    await page.get_by_role("textbox", name="Command", exact=True).fill("/deploy")
    await page.get_by_role("textbox", name="What to write after it").fill("[service]")
    await page.get_by_role("textbox", name="What it does").fill("Deploys a service")
    await page.get_by_role("button", name="Add command").click()
    commands = page.get_by_role("list", name="Commands")
    await expect(commands).to_contain_text("/deploy [service]")

    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    box = page.get_by_role("textbox", name="Message", exact=True)
    await box.press_sequentially("/DEP")
    await expect(page.get_by_role("option")).to_contain_text(["/deploy [service]"])
    await page.keyboard.press("Enter")
    await expect(box).to_have_value("/deploy ")
    await box.press_sequentially("web 7")
    async with page.expect_response("**/slash_commands/call") as called:
        await page.keyboard.press("Control+Enter")
    call_id = (await (await called.value).json())["call_id"]
    await expect(page.get_by_text("/deploy was called.")).to_be_visible()
    await expect(box).to_have_value("")
    await expect(page.get_by_role("feed").get_by_role("article")).to_have_count(0)

    answers = page.get_by_role("log", name="Answers to commands")
    for text in ("Deploying web.", "Deployed web."):
        await answer(chat, make, ada, bot, channel, call_id, text)
        await expect(answers).to_contain_text(text)
    await expect(answers).not_to_contain_text("Deploying web.")
    await expect(page.get_by_text("/deploy was called.")).to_have_count(0)
    await expect(answers).to_contain_text("Deployer /deploy · Only you see this")
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/other")
    await expect(page.get_by_role("heading", name="other")).to_be_visible()
    await expect(answers).to_have_count(0)
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await answers.get_by_role("button", name="Close the notice").click()
    await expect(answers).to_have_count(0)

    await box.press_sequentially("/todo")
    await expect(page.get_by_role("option")).to_have_count(1)
    await page.keyboard.press("Control+Enter")
    await expect(box).to_have_value("")
    await expect(page.get_by_role("option")).to_have_count(0)


async def test_what_could_not_be_called_is_in_the_box_again(
    chat: Server, make: Make, sign_in: SignIn, connect
):
    ada = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[ada])
    bot = await a_bot(make, ada)
    person = await sign_in(ada)
    page = person.page
    await person.go("#settings/bots")
    await page.get_by_role("button", name="Settings of Deployer").click()
    await page.get_by_role("textbox", name="Command", exact=True).fill("نشر")
    await page.get_by_role("button", name="Add command").click()
    await expect(page.get_by_role("list", name="Commands")).to_contain_text("/نشر")
    client = await connect(chat, make.realm_id, ada)
    await client.delete(f"/bots/{bot.user_id}")
    await person.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    box = page.get_by_role("textbox", name="Message", exact=True)
    await box.fill("/نشر web")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_role("alert")).to_contain_text("deactivated")
    await expect(box).to_have_value("/نشر web")
    person.complaints.clear()  # the browser reports each refused request
