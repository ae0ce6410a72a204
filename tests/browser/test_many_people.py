"""Many people at once: added to channels and groups, and to a channel as it is created."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from server.domain.access import OWNER
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn, show

pytestmark = pytest.mark.asyncio

PASTE = """(field, text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const options = { clipboardData: data, bubbles: true, cancelable: true };
  field.dispatchEvent(new ClipboardEvent("paste", options));
}"""


async def paste(page: Page, text: str) -> None:
    await page.get_by_role("combobox", name="Add people").evaluate(PASTE, text)


async def choose(page: Page, text: str, option: str) -> None:
    await page.get_by_role("combobox", name="Add people").fill(text)
    await page.get_by_role("option", name=option).click()


async def test_a_pasted_list_and_a_channel_are_added_at_once(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    mary, joan = await make.user("Mary Somerville"), await make.user("Joan Clarke")
    await make.user("Luigi Menabrea", is_active=False)
    engines = await make.channel("engines", subscribers=[ada, grace])
    looms = await make.channel("looms", subscribers=[ada, joan])
    owner = await sign_in(ada)
    page = owner.page
    requests: list[Any] = []
    page.on(
        "request",
        lambda each: (
            requests.append(each.post_data)
            if each.method == "POST" and each.url.endswith("/users/me/subscriptions")
            else None
        ),
    )
    await owner.go(f"#channels/{engines.channel_id}/members")
    # What is pasted while the server is asked who is in a channel stays.
    is_pasted = asyncio.Event()

    async def answer_late(route: Route) -> None:
        await is_pasted.wait()
        await route.continue_()

    await page.route(f"**/streams/{looms.channel_id}/members", answer_late)
    await choose(page, "#loo", "All of the channel looms")
    await paste(page, f"{mary.email}\nGrace Hopper; Luigi Menabrea, Nemo")
    is_pasted.set()
    await expect(page.get_by_role("button", name="Add 2 people")).to_be_visible()
    refused = page.locator(".refused")
    await expect(refused).to_contain_text("Luigi Menabrea: is deactivated")
    await expect(refused).to_contain_text("Nemo: is not known here")
    await expect(refused).to_contain_text("Grace Hopper: is in already")
    await page.get_by_role("button", name="Add 2 people").click()
    await expect(page.get_by_text("2 people were added.")).to_be_visible()
    members = page.get_by_role("list", name="Members")
    for name in ("Mary Somerville", "Joan Clarke"):
        await expect(members.get_by_role("link", name=name)).to_be_visible()
    assert len(requests) == 1


async def test_a_group_takes_all_of_another_group(chat: Server, make: Make, sign_in: SignIn):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    mary = await make.user("Mary Somerville")
    owner = await sign_in(ada)
    client = Client(chat, await chat.host_of(make.realm_id), ada.email, ada.api_key, ada)
    ids = [grace.user_id, mary.user_id]
    await client.post("/user_groups/create", name="engineers", description="", members=ids)
    made = await client.post("/user_groups/create", name="readers", description="", members=[])
    await owner.go(f"#groups/{made['group_id']}/members")
    await choose(owner.page, "engin", "All of the group engineers")
    await owner.page.get_by_role("button", name="Remove Mary Somerville").click()
    await owner.page.get_by_role("button", name="Add", exact=True).click()
    await expect(owner.page.get_by_text("1 person was added.")).to_be_visible()
    members = owner.page.get_by_role("list", name="Members")
    await expect(members.get_by_role("link", name="Grace Hopper")).to_be_visible()
    await expect(members.get_by_role("listitem")).to_have_count(1)

    page, path = owner.page, f"/user_groups/{made['group_id']}"
    inner = (await client.get("/user_groups"))["user_groups"]
    [engineers] = [each["id"] for each in inner if each["name"] == "engineers"]
    await client.post(f"{path}/subgroups", add=[engineers])
    await show(page, f"#groups/{engineers}/members")
    offered = page.get_by_role("combobox", name="Group", exact=True)
    await expect(offered).not_to_contain_text("readers")
    await show(page, f"#groups/{engineers}/general")
    await page.get_by_role("button", name="Deactivate group").click()
    await page.get_by_role("dialog").last.get_by_role("button", name="Deactivate").click()
    await expect(page.get_by_role("alert")).to_contain_text("It is used by: group readers.")
    owner.complaints.clear()

    # What another one has changed meanwhile is not replaced unnoticed.
    name = page.get_by_label("Name", exact=True)
    await name.fill("Engineers")
    await client.patch(f"/user_groups/{engineers}", name="builders")
    await expect(page.get_by_text("Changed meanwhile to “builders”.")).to_be_visible()
    await show(page, "#groups")
    await page.get_by_role("button", name="Discard", exact=True).click()
    await expect(page.get_by_role("link", name="builders")).to_be_visible()


async def test_a_channel_is_created_with_what_it_shall_have(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    owner = await sign_in(ada)
    client = Client(chat, await chat.host_of(make.realm_id), ada.email, ada.api_key, ada)
    folder = await client.post("/channel_folders/create", name="Workshop", description="")
    page = owner.page
    await owner.go("#channels/new")
    await page.get_by_role("textbox", name="Name").fill("engines")
    await page.get_by_role("textbox", name="Description", exact=True).fill("Of **cogs**")
    await page.get_by_role("button", name="Preview of the description").click()
    await expect(page.locator(".compose-preview strong")).to_have_text("cogs")
    await page.get_by_label("May send messages").select_option(label="Moderators")
    await page.get_by_label("Folder").select_option(label="Workshop")
    await paste(page, grace.email)
    await page.get_by_text("More", exact=True).click()
    await page.get_by_label("Topics").select_option(label="No topics: one conversation")
    await page.get_by_label("Keep messages").select_option(label="90 days")
    await page.get_by_label("New users are subscribed to it").check()
    await page.get_by_role("button", name="Create", exact=True).click()
    await expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
    [made] = [
        each for each in (await client.get("/streams"))["streams"] if each["name"] == "engines"
    ]
    moderators = (await make.role_groups())["role:moderators"]
    assert made["folder_id"] == folder["channel_folder_id"]
    assert made["topics_policy"] == "empty_topic_only"
    assert made["message_retention_days"] == 90
    assert made["can_send_message_group"] == moderators
    assert made["description"] == "Of **cogs**"
    assert made["subscriber_count"] == 2
