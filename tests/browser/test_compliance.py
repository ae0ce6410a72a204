"""Owners' views of directories, legal holds and compliance officers, and an officer's search."""

import re

import pytest
from playwright.async_api import expect

from server.domain.access import OWNER
from testkit.clients.page_client import PASSWORD
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

pytestmark = pytest.mark.asyncio


async def test_a_directory_gets_a_token_until_it_is_revoked(
    chat: Server, make: Make, sign_in: SignIn
):
    owner = await sign_in(await make.user("Ada Lovelace", role=OWNER))
    await owner.go("#organization/directories")
    page = owner.page
    await page.get_by_label("Name of the directory").fill("Okta")
    await page.get_by_role("button", name="Create a token").click()
    made = page.get_by_role("group", name="New token")
    token = await made.get_by_role("textbox", name="Token", exact=True).input_value()
    address = await made.get_by_role("textbox", name="Address of the service").input_value()
    headers = {"Authorization": f"Bearer {token}"}
    assert (await page.request.get(f"{address}/Users", headers=headers)).ok
    tokens = page.get_by_role("list", name="Tokens of directories")
    await expect(tokens).to_contain_text("Okta")
    await tokens.get_by_role("button", name="Revoke the token of Okta").click()
    await page.get_by_role("button", name="Revoke the token", exact=True).click()
    await expect(tokens.get_by_role("listitem")).to_have_count(0)
    assert (await page.request.get(f"{address}/Users", headers=headers)).status == 401


async def test_an_officer_searches_what_a_legal_hold_has_kept(
    chat: Server, make: Make, sign_in: SignIn, connect
):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    mallory = await make.user("Mallory")
    await make.channel("engines", subscribers=[mallory])
    sender = await connect(chat, make.realm_id, mallory)
    owner, officer = await sign_in(ada), await sign_in(grace)

    await owner.go("#organization/compliance")
    page = owner.page
    await page.get_by_role("button", name="Place a legal hold").click()
    await page.get_by_label("Name of the hold").fill("Smith v. Jones")
    await page.get_by_label("Reason", exact=True).fill("Case 4711")
    await page.get_by_label("The whole organization").check()
    await page.get_by_role("button", name="Place the hold").click()
    holds = page.get_by_role("list", name="Legal holds")
    await expect(holds).to_contain_text("Smith v. Jones")
    await expect(holds).to_contain_text("Active")
    await page.get_by_label("New compliance officer").fill("Grace")
    await page.get_by_role("option", name=re.compile("Grace Hopper")).click()
    await page.get_by_label("Your password", exact=True).fill("wrong")
    await page.get_by_role("button", name="Appoint", exact=True).click()
    await expect(page.get_by_role("alert")).to_be_visible()
    owner.complaints.clear()  # the browser reports each refused request
    await page.get_by_label("Your password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Appoint", exact=True).click()
    officers = page.get_by_role("list", name="Compliance officers")
    await expect(officers).to_contain_text("Grace Hopper")

    sent = await sender.post(
        "/messages", type="stream", to='"engines"', topic="t", content="burn the papers"
    )
    await sender.delete(f"/messages/{sent['id']}")
    await (await connect(chat, make.realm_id, ada)).delete(f"/users/{mallory.user_id}")
    await officer.go("#organization/compliance")
    page = officer.page
    await page.get_by_label("Your password, to open or approve a case").fill(PASSWORD)
    await page.get_by_label("Reason of the case").fill("Case 4711")
    await page.get_by_role("button", name="Open a case").click()
    await page.get_by_label("Words").fill("papers")
    await page.get_by_role("combobox", name="Sent by").fill("Mallory")
    await page.get_by_role("option", name=re.compile("Mallory")).click()
    await page.get_by_role("button", name="Search all messages").click()
    found = page.get_by_role("list", name="Messages found")
    await expect(found).to_contain_text("burn the papers")
    await expect(found).to_contain_text("Deleted by Mallory")
    await page.get_by_role("button", name="Close the case Case 4711").click()
    await expect(page.get_by_role("list", name="Cases")).to_contain_text("Closed")

    page = owner.page
    await holds.get_by_role("button", name="Release the hold Smith v. Jones").click()
    await page.get_by_label("Reason of the release").fill("Settled")
    await page.get_by_role("button", name="Release the hold", exact=True).click()
    await expect(holds).to_contain_text("Settled")


async def test_where_two_persons_are_needed_another_officer_approves_the_case(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    await make.channel("engines", subscribers=[ada])
    owner, officer = await sign_in(ada), await sign_in(grace)
    page = owner.page
    await owner.go("#organization/compliance")
    officers = page.get_by_role("list", name="Compliance officers")
    for name in ("Ada Lovelace", "Grace Hopper"):
        await page.get_by_label("New compliance officer").fill(name)
        await page.get_by_role("option", name=re.compile(name)).click()
        await page.get_by_label("Your password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Appoint", exact=True).click()
        await expect(officers).to_contain_text(name)
    await page.get_by_label("Your password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Require the approval of another officer").click()
    await expect(page.get_by_text("Another officer has to approve each case.")).to_be_visible()

    page = officer.page
    await officer.go("#organization/compliance")
    await page.get_by_label("Your password, to open or approve a case").fill(PASSWORD)
    await page.get_by_label("Reason of the case").fill("Case 4711")
    await page.get_by_role("button", name="Open a case").click()
    cases = page.get_by_role("list", name="Cases")
    await expect(cases).to_contain_text("Waits for an approval")
    await expect(cases.get_by_role("button", name="Approve the case Case 4711")).to_have_count(0)
    await expect(page.get_by_role("button", name="Search all messages")).to_have_count(0)

    page = owner.page
    await page.reload()
    approve = page.get_by_role("button", name="Approve the case Case 4711")
    await approve.click()  # without the password
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.get_by_role("list", name="Cases")).to_contain_text("Waits for an approval")
    owner.complaints.clear()  # the browser reports each refused request
    await page.get_by_label("Your password, to open or approve a case").fill(PASSWORD)
    await approve.click()
    await expect(approve).to_have_count(0)
    await expect(page.get_by_role("list", name="Cases")).to_contain_text("Open until")

    page = officer.page
    await page.reload()
    await expect(cases).to_contain_text("approved by Ada Lovelace")
    await page.get_by_role("button", name="Search all messages").click()
    await expect(page.get_by_text("No message was found.")).to_be_visible()
