"""Pages that change settings: bots, people and the organization."""

import json
from datetime import timedelta

import pytest
from playwright.async_api import expect

from queue_processors.deferred_work import handle
from server.actions.account_exports import STEP, AccountExportArguments
from server.domain.access import OWNER
from server.domain.addresses import API_PREFIX
from server.jobs import DeferredWork
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

pytestmark = pytest.mark.asyncio


async def test_an_outgoing_webhook_gets_another_address_and_channel(
    chat: Server, make: Make, sign_in: SignIn
):
    await make.channel("engines")
    ada = await sign_in("Ada Lovelace")
    await ada.go("#settings/bots")
    page = ada.page
    await page.get_by_role("button", name="Create a bot").click()
    await page.get_by_role("combobox", name="Kind").select_option(
        label="Outgoing webhook: calls an address when mentioned"
    )
    await page.get_by_role("textbox", name="Name", exact=True).fill("Robo")
    await page.get_by_role("textbox", name="First part of its email address").fill("robo")
    await page.get_by_role("textbox", name="Address that it calls").fill("https://bots.example/one")
    await page.get_by_role("combobox", name="Format of the calls").select_option(
        label="As Slack calls"
    )
    await page.get_by_role("button", name="Create", exact=True).click()
    await expect(page.get_by_text("Calls https://bots.example/one")).to_be_visible()
    await page.get_by_role("button", name="Settings of Robo").click()
    await expect(page.get_by_role("combobox", name="Format of the calls")).to_have_value("2")
    address = page.get_by_role("textbox", name="Address that it calls")
    await address.fill("https://bots.example/two")
    await address.press("Enter")
    await page.get_by_role("combobox", name="It sends to").select_option(label="engines")
    await page.get_by_role("textbox", name="Name", exact=True).fill("Robot")
    await page.get_by_role("textbox", name="Name", exact=True).press("Enter")
    await expect(page.get_by_role("link", name="Robot")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("Calls https://bots.example/two")).to_be_visible()
    await page.get_by_role("button", name="Settings of Robot").click()
    sends_to = page.get_by_role("combobox", name="It sends to")
    await expect(sends_to).to_have_value('"engines"')
    await sends_to.select_option(label="None")
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    await page.reload()
    await page.get_by_role("button", name="Settings of Robot").click()
    await expect(sends_to).to_have_value('""')


async def test_a_text_is_saved_by_its_button_alone(chat: Server, make: Make, sign_in: SignIn):
    user = await make.user("Ada Lovelace", role=OWNER)
    channel = await make.channel("engines", subscribers=[user])
    await make.channel("general")
    ada = await sign_in(user)
    page = ada.page
    await ada.go(f"#channels/{channel.channel_id}/general")
    name = page.get_by_role("textbox", name="Name", exact=True)
    await name.fill("General")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_be_visible()
    ada.complaints.clear()  # the browser reports each refused request
    await name.fill("looms")
    await expect(page.get_by_role("alert")).to_have_count(0)
    question = page.get_by_role("dialog", name="Discard your changes?")
    await page.get_by_role("link", name="Members").click()
    # Enter does what loses nothing.
    await expect(question.get_by_role("button", name="Keep editing")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(name).to_have_value("looms")
    address = page.url
    await page.go_back()
    await question.get_by_role("button", name="Keep editing").click()
    await expect(name).to_have_value("looms")
    assert page.url == address
    await page.go_back()
    await question.get_by_role("button", name="Discard").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.go_back()
    await expect(name).to_have_value("engines")
    await name.fill("looms")
    await page.get_by_role("button", name="Close").click()
    await question.get_by_role("button", name="Discard").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.reload()
    await ada.go(f"#channels/{channel.channel_id}/general")
    await expect(name).to_have_value("engines")

    await ada.go("#organization/users")
    await page.get_by_role("link", name="Manage Ada Lovelace").click()
    await page.get_by_role("dialog", name="Profile").get_by_role("button", name="Close").click()
    await expect(page.get_by_role("link", name="Manage Ada Lovelace")).to_be_visible()
    await ada.go("#groups")
    await page.get_by_role("button", name="Create group").click()
    await expect(name).to_be_focused()


async def test_a_service_posts_to_the_address_that_was_made_for_it(
    chat: Server, make: Make, sign_in: SignIn, connect
):
    user = await make.user("Ada Lovelace")
    channel = await make.channel("engines", subscribers=[user])
    ada = await sign_in(user)
    await ada.go("#settings/bots")
    page = ada.page
    await page.get_by_role("button", name="Create a bot").click()
    await page.get_by_role("combobox", name="Kind").select_option(
        label="Incoming webhook: another service sends messages"
    )
    await page.get_by_role("textbox", name="Name", exact=True).fill("Octo")
    await page.get_by_role("textbox", name="First part of its email address").fill("octo")
    await page.get_by_role("button", name="Create", exact=True).click()
    await page.get_by_role("button", name="Show key: Octo").click()
    await page.get_by_role("combobox", name="Service that posts").select_option(label="GitHub")
    await page.get_by_role("combobox", name="Channel for its messages").select_option("engines")
    await page.get_by_role("textbox", name="Branches of which pushes").fill("main")
    own_topics = page.get_by_role("checkbox", name="Give each pull request a topic of its own")
    await expect(own_topics).to_be_checked()
    await own_topics.uncheck()
    await page.get_by_text("All events are posted").click()
    await page.get_by_role("checkbox", name="star", exact=True).check()
    await expect(page.get_by_text("1 event is posted")).to_be_visible()
    address = await page.get_by_role("textbox", name="Address for the service").input_value()
    assert "&map_pull_request_topics=false" in address
    assert "ignore_private_repositories" not in address
    await expect(page.get_by_text("Waiting for the first delivery")).to_be_visible()

    service = await connect(chat, make.realm_id)
    starred = {"sender": {"login": "ada"}, "repository": {"name": "difference"}}
    headers = {"X-GitHub-Event": "star", "Content-Type": "application/json"}
    _, _, path = address.partition(API_PREFIX)
    for event, posted in (("watch", False), ("star", True)):
        answer = await service.send(
            "POST",
            path,
            body=json.dumps(starred).encode(),
            headers={**headers, "X-GitHub-Event": event},
        )
        assert bool(answer.succeeded()["msg"]) is not posted
    await expect(page.get_by_text("A delivery of GitHub came at")).to_be_visible()

    await page.get_by_label("Secret of the service").fill("shared with GitHub")
    await page.get_by_role("button", name="Save secret").click()
    await expect(page.get_by_text("Only what is signed with the secret is posted.")).to_be_visible()
    answer = await service.send("POST", path, body=b"{}", headers=headers)
    answer.refused("INVALID_WEBHOOK_SIGNATURE", 401)
    await expect(page.get_by_text("was not signed with the secret")).to_be_visible()
    await page.get_by_role("button", name="Remove secret").click()
    await expect(page.get_by_text("With a secret, only what is signed")).to_be_visible()
    (
        await service.send("POST", path, body=json.dumps(starred).encode(), headers=headers)
    ).succeeded()
    await page.keyboard.press("Escape")
    await ada.go(f"#narrow/channel/{channel.channel_id}-engines/topic/difference")
    await expect(page.get_by_role("article", name="Octo")).to_contain_text(["starred", "starred"])


async def test_an_administrator_fills_in_the_profile_of_a_user(
    chat: Server, make: Make, sign_in: SignIn
):
    ada = await make.user("Ada Lovelace", role=OWNER)
    grace = await make.user("Grace Hopper")
    owner = await sign_in(ada)
    page = owner.page
    await owner.go("#organization/fields")
    await page.get_by_role("textbox", name="Name", exact=True).fill("Room")
    await page.get_by_role("button", name="Add field").click()
    await expect(page.get_by_text("Room", exact=True)).to_be_visible()
    await owner.go(f"#user/{grace.user_id}")
    room = page.get_by_role("textbox", name="Room")
    for answer in ("12 B", ""):
        await room.fill(answer)
        await room.press("Enter")
        await expect(page.get_by_role("button", name="Save")).to_have_count(0)
        await page.reload()
        await expect(room).to_have_value(answer)


async def test_the_address_of_calls_goes_back_to_the_servers(
    chat: Server, make: Make, sign_in: SignIn
):
    owner = await sign_in(await make.user("Ada Lovelace", role=OWNER))
    await owner.go("#organization/settings")
    address = owner.page.get_by_role("textbox", name="Address of the Jitsi server")
    before = await address.input_value()
    for given, kept in (("https://calls.example", "https://calls.example"), ("", before)):
        await address.fill(given)
        await address.press("Enter")
        await expect(owner.page.get_by_role("button", name="Save")).to_have_count(0)
        await owner.page.reload()
        await expect(address).to_have_value(kept)


async def test_ones_own_data_is_exported_and_downloaded(chat: Server, make: Make, sign_in: SignIn):
    ada = await sign_in("Ada Lovelace")
    await ada.go("#settings/account")
    await ada.page.get_by_role("button", name="Export your data").click()
    listed = ada.page.get_by_role("list", name="Exports of your data")
    await expect(listed.get_by_text("Running: 0 %")).to_be_visible()
    [export_id] = await make.connection.values("SELECT export_id FROM account_exports")
    job = DeferredWork.of(make.realm_id, STEP, AccountExportArguments(export_id))
    await handle(chat.app, job)
    async with ada.page.expect_download() as begun:
        await listed.get_by_role("link", name="Download").click()
    assert (await begun.value).suggested_filename == "account.zip"
    await listed.get_by_role("button", name="Delete").click()
    await expect(listed.get_by_role("listitem")).to_have_count(0)


async def test_a_retention_asks_with_what_it_would_delete(
    chat: Server, make: Make, sign_in: SignIn
):
    owner = await make.user("Ada Lovelace", role=OWNER)
    topic = await make.topic(await make.channel("engines", subscribers=[owner]), "t")
    long_ago = chat.app.clock.now() - timedelta(days=100)
    for _ in range(3):
        await make.message(owner, topic, sent_at=long_ago)
    ada = await sign_in(owner)
    await ada.go("#organization/settings")
    await ada.page.get_by_role("combobox", name="Keep messages").select_option(label="90 days")
    dialog = ada.page.get_by_role("dialog", name="Delete older messages?")
    await expect(dialog.get_by_text("3 messages from before")).to_be_visible()
    await expect(dialog.get_by_text("They are in 1 channel.")).to_be_visible()
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(ada.page.get_by_role("combobox", name="Keep messages")).to_have_value(
        json.dumps("unlimited")
    )
