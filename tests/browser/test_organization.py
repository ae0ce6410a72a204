"""Pages of the organization: folders, groups of channels, linkifiers, playgrounds."""

import re

import pytest
from playwright.async_api import Page, expect

from server.domain.access import GUEST, MODERATOR, OWNER
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.images import picture
from tests.browser.conftest import SignIn, show

pytestmark = pytest.mark.asyncio


async def add(page: Page, action: str, **values: str) -> None:
    """Fill in the first form of the panel, and send it."""
    for name, value in values.items():
        await page.get_by_label(name, exact=True).first.fill(value)
    await page.get_by_role("button", name=action).click()


async def test_folders_are_made_filled_ordered_and_archived(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    for name in ("engines", "looms"):
        await make.subscribe(await make.channel(name), [ada, grace])
    owner, member = await sign_in(ada), await sign_in(grace)
    await member.go("#inbox")
    await owner.go("#organization/folders")
    page = owner.page
    folders = page.get_by_role("list", name="Channel folders")
    for name in ("Machines", "Cloth"):
        await add(page, "Add folder", Name=name)
        await expect(folders.get_by_text(name, exact=True)).to_be_visible()
    for folder, channel in (("Machines", "engines"), ("Cloth", "looms")):
        await page.get_by_label(f"Channel for {folder}").select_option(label=channel)
        await page.get_by_role("button", name=f"Add a channel to {folder}").click()
        await expect(page.get_by_role("list", name=folder).get_by_text(channel)).to_be_visible()
    shown = member.page.get_by_role("list", name="Channels").locator(".section-name")
    await expect(shown).to_have_text(["Machines", "Cloth"])
    await page.get_by_role("button", name="Move up: Cloth").click()
    await expect(shown).to_have_text(["Cloth", "Machines"])
    await page.get_by_role("button", name="Edit Cloth").click()
    edited = folders.get_by_role("textbox", name="Name")
    await expect(edited).to_have_value("Cloth")
    await edited.fill("Fabric")
    await folders.get_by_role("button", name="Save").click()
    await expect(shown).to_have_text(["Fabric", "Machines"])
    await page.get_by_role("button", name="Archive Fabric").click()
    await expect(shown).to_have_text(["Machines", "Other channels"])
    # An archived folder keeps its place among the others.
    await page.get_by_role("button", name="Bring Fabric back").click()
    await page.get_by_role("button", name="Take out: looms, Fabric").click()
    await expect(shown).to_have_text(["Machines", "Other channels"])
    assert await member.page.get_by_role("list", name="Channels").is_visible()
    await member.go("#organization/folders")
    await expect(member.page.get_by_role("list", name="Channel folders")).to_contain_text("Fabric")
    await expect(member.page.get_by_role("button", name="Add folder")).to_have_count(0)
    await expect(member.page.get_by_role("button", name="Move")).to_have_count(0)


async def test_groups_of_channels_are_made_changed_and_removed(
    chat: Server, make: Make, sign_in: SignIn
):
    await make.channel("engines")
    owner = await sign_in(await make.user("Ada Lovelace", role=OWNER))
    await owner.go("#organization/default-channels")
    page = owner.page
    await add(page, "Add group", Name="Makers", Description="Who builds")
    await page.get_by_label("Channel for Makers").select_option(label="engines")
    await page.get_by_role("button", name="Add a channel to Makers").click()
    await expect(page.get_by_role("list", name="Makers").get_by_text("engines")).to_be_visible()
    await page.get_by_role("button", name="Edit Makers").click()
    groups = page.get_by_role("list", name="Groups of channels to choose from")
    await groups.get_by_role("textbox", name="Name").fill("Builders")
    await groups.get_by_role("button", name="Save").click()
    await page.reload()
    await page.get_by_role("button", name="Take out: engines, Builders").click()
    await expect(groups.get_by_text("No channels yet.")).to_be_visible()
    await page.get_by_role("button", name="Remove Builders").click()
    await expect(groups.get_by_role("listitem")).to_have_count(0)


async def test_linkifiers_are_edited_and_ordered(chat: Server, make: Make, sign_in: SignIn):
    channel, ada = await make.channel("engines"), await make.user("Ada Lovelace", role=OWNER)
    await make.subscribe(channel, [ada])
    owner = await sign_in(ada)
    await owner.go("#organization/linkifiers")
    page = owner.page
    for pattern, path in (("#(?P<id>[0-9]+)", "any"), ("#(?P<id>7[0-9]*)", "seven")):
        await add(
            page, "Add linkifier", Pattern=pattern, Address=f"https://x.example/{path}/{{id}}"
        )
        await expect(page.get_by_text(pattern, exact=True)).to_be_visible()
    await page.get_by_role("button", name="Edit #(?P<id>7[0-9]*)").click()
    linkifiers = page.get_by_role("list", name="Linkifiers")
    await linkifiers.get_by_role("textbox", name="Address").fill("https://x.example/special/{id}")
    await linkifiers.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("https://x.example/special/{id}")).to_be_visible()
    await page.get_by_role("button", name="Move up: #(?P<id>7[0-9]*)").click()
    first = linkifiers.get_by_role("listitem").first
    await expect(first).to_contain_text("special")
    await owner.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await owner.write("See #71 and #81")
    links = owner.message("See").get_by_role("link", name="#")
    await expect(links.first).to_have_attribute("href", "https://x.example/special/71")
    await expect(links.last).to_have_attribute("href", "https://x.example/any/81")


async def test_code_opens_in_a_playground(chat: Server, make: Make, sign_in: SignIn):
    channel, ada = await make.channel("engines"), await make.user("Ada Lovelace", role=OWNER)
    await make.subscribe(channel, [ada])
    grace = await make.user("Grace Hopper")
    await make.subscribe(channel, [grace])
    owner, reader = await sign_in(ada), await sign_in(grace)
    topic = f"#narrow/channel/{channel.channel_id}-engines/topic/notes"
    await reader.go(topic)
    await reader.write("```python\nprint('a & b')\n```")
    await owner.go("#organization/playgrounds")
    page = owner.page
    await add(
        page,
        "Add playground",
        Language="Python",
        Name="Runner",
        Address="https://run.example/{?code}",
    )
    await expect(page.get_by_text("Python: Runner")).to_be_visible()
    # The page of others follows: messages that they read already get the link.
    await expect(reader.page.get_by_role("link", name="Open in Runner")).to_have_count(1)
    await owner.go(topic)
    await expect(owner.page.get_by_role("link", name="Open in Runner")).to_have_count(1)
    await owner.write("```ruby\nputs 1\n```")
    link = owner.page.get_by_role("link", name="Open in Runner")
    await expect(link).to_have_count(1)
    await expect(link).to_have_attribute(
        "href", "https://run.example/?code=print%28%27a%20%26%20b%27%29"
    )
    await owner.go("#organization/playgrounds")
    await page.get_by_role("button", name="Remove Python: Runner").click()
    await expect(page.get_by_text("There are none yet.")).to_be_visible()
    await expect(reader.page.get_by_role("link", name="Open in Runner")).to_have_count(0)
    await expect(reader.message("print").get_by_role("button", name="Copy code")).to_be_attached()


async def test_the_audit_log_is_read_as_sentences(chat: Server, make: Make, sign_in: SignIn):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    owner = await sign_in(ada)
    client = Client(chat, await chat.host_of(make.realm_id), ada.email, ada.api_key, ada)
    await client.patch(f"/users/{grace.user_id}", role=MODERATOR)
    await client.patch("/realm", message_content_edit_limit_seconds=120)
    await owner.go("#organization/audit-log")
    log = owner.page.get_by_role("list", name="Audit log")
    made = log.get_by_role("listitem").filter(has_text="Ada Lovelace made Grace Hopper a moderator")
    await expect(made).to_contain_text("Member")
    await expect(made.get_by_role("link", name="Grace Hopper")).to_have_attribute(
        "href", f"#user/{grace.user_id}"
    )
    await expect(log).to_contain_text("Edit within")
    chosen = owner.page.get_by_role("combobox", name="Only changes made by")
    await chosen.fill("Grace")
    await owner.page.get_by_role("option", name="Grace Hopper").click()
    await expect(owner.page.get_by_text("Nothing has been changed yet.")).to_be_visible()


async def test_the_organization_shows_its_name_and_then_its_logos(
    chat: Server, make: Make, sign_in: SignIn
):
    ada = await make.user("Ada Lovelace", role=OWNER)
    owner = await sign_in(ada)
    client = Client(chat, await chat.host_of(make.realm_id), ada.email, ada.api_key, ada)
    link = owner.page.get_by_role("link", name="Analytical Engines", exact=True)
    await expect(link).to_contain_text("Analytical Engines")
    await expect(link).to_have_attribute("href", "#inbox")
    for night in ("false", "true"):
        file = ("logo.png", picture(size=(400, 100)))
        await client.upload("/realm/logo", fields={"night": night}, file=file)
    # The open page follows: one logo is shown, that of the theme.
    day, night_logo = link.locator("img.for-light"), link.locator("img.for-dark")
    await expect(day).to_be_visible()
    await expect(night_logo).to_be_hidden()
    await client.patch("/settings", color_scheme=2)
    await expect(night_logo).to_be_visible()
    await expect(day).to_be_hidden()
    await client.patch("/realm", name="Engines")
    await expect(owner.page.get_by_role("link", name="Engines", exact=True)).to_be_visible()


async def test_guests_are_offered_what_they_may_do(chat: Server, make: Make, sign_in: SignIn):
    person = await sign_in(await make.user("Charles Babbage", role=GUEST))
    page = person.page
    dialog = page.get_by_role("dialog")
    await person.go("#channels/new")
    await expect(dialog).to_contain_text("You may not create channels.")
    await expect(dialog.get_by_role("textbox")).to_have_count(0)
    await show(page, "#organization")
    links = dialog.get_by_role("navigation", name="Sections").get_by_role("link")
    await expect(links).to_have_text(["Organization profile", "Users", "Groups", "Bots", "Emoji"])
    for name in await links.all_text_contents():
        await links.get_by_text(name, exact=True).click()
        await expect(dialog.get_by_role("heading", name=name, exact=True)).to_be_visible()
        if await dialog.locator(":disabled").count():
            await expect(dialog).to_contain_text("Only administrators may change this.")
        await expect(dialog.locator("input[type=file], button[type=submit]")).to_have_count(0)


async def test_the_limits_of_names_are_shown(chat: Server, make: Make, sign_in: SignIn):
    person = await sign_in(await make.user("Ada Lovelace", role=OWNER))
    for panel, limit in (("folders", 60), ("emoji", 100), ("linkifiers", 1000)):
        await person.go(f"#organization/{panel}")
        dialog = person.page.get_by_role("dialog")
        label = "Pattern" if panel == "linkifiers" else "Name"
        await dialog.get_by_label(label, exact=True).fill("x" * (limit - 3))
        await expect(dialog).to_contain_text("3 characters left")
        await person.page.reload()


async def test_the_limit_of_a_bots_address_is_shown(chat: Server, make: Make, sign_in: SignIn):
    person = await sign_in(await make.user("Ada Lovelace", role=OWNER))
    await person.go("#settings/bots")
    dialog = person.page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Create a bot").click()
    await dialog.get_by_role("combobox", name="Kind").select_option("3")
    await dialog.get_by_label("Address that it calls").fill("https://a.example/".ljust(2045, "x"))
    await expect(dialog).to_contain_text("3 characters left")


async def test_the_limits_of_choices_are_shown(chat: Server, make: Make, sign_in: SignIn):
    person = await sign_in(await make.user("Ada Lovelace", role=OWNER))
    await person.go("#organization/fields")
    dialog = person.page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("Team")
    await dialog.get_by_role("combobox", name="Kind").select_option("Choice")
    choices = dialog.get_by_label("Choices", exact=True)
    add = dialog.get_by_role("button", name="Add field")
    for text, problem in (
        ("a, " + "x" * 51, "A choice has at most 50 characters"),
        (",".join(map(str, range(201))), "A field has at most 200 choices."),
        ("a, b, a", "“a” is there twice."),
    ):
        await choices.fill(text)
        await expect(dialog).to_contain_text(problem)
        await add.click()
        await expect(choices).to_have_value(text)
    await choices.fill("a, " + "x" * 50)
    await add.click()
    await expect(dialog.get_by_role("list")).to_contain_text("Team")


async def test_an_own_address_that_is_not_confirmed_says_so(
    chat: Server, make: Make, sign_in: SignIn
):
    grace = await make.user("Grace Hopper")
    confirm = "UPDATE users SET email_confirmed = %(is)s WHERE user_id = %(u)s"
    await make.connection.execute(confirm, **{"is": False, "u": grace.user_id})
    person = await sign_in(grace)
    await person.go("#settings/account")
    dialog = person.page.get_by_role("dialog")
    await expect(dialog).to_contain_text("not confirmed")
    link = dialog.get_by_role("link", name="Confirm this address")
    page = await person.context.new_page()
    await page.goto(f"{person.url}{await link.get_attribute('href')}")
    await expect(page.get_by_role("heading", name="Your address is not confirmed")).to_be_visible()
    await make.connection.execute(confirm, **{"is": True, "u": grace.user_id})
    await person.page.evaluate("dispatchEvent(new Event('focus'))")
    await expect(link).to_have_count(0)


async def test_administrators_confirm_addresses_that_they_know(
    chat: Server, make: Make, sign_in: SignIn
):
    ada, grace = await make.user("Ada Lovelace", role=OWNER), await make.user("Grace Hopper")
    await make.connection.execute(
        "UPDATE users SET email_confirmed = false WHERE user_id = %(u)s", u=grace.user_id
    )
    owner, member = await sign_in(ada), await sign_in(grace)
    await member.go("#organization/users")
    await expect(member.page.get_by_role("link", name="Profile").first).to_be_visible()
    await expect(member.page.get_by_text("Address not confirmed")).to_have_count(0)
    await owner.go("#organization/users")
    page = owner.page
    await expect(page.get_by_text("Address not confirmed")).to_have_count(1)
    confirm = page.get_by_role("button", name="Confirm the address of Grace Hopper")
    await confirm.click()
    dialog = page.get_by_role("dialog", name="Confirm the address of Grace Hopper?")
    await expect(dialog).to_contain_text(grace.email)
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(confirm).to_be_visible()
    await confirm.click()
    await dialog.get_by_role("button", name="Confirm the address").click()
    await expect(confirm).to_have_count(0)
    await owner.go("#organization/audit-log")
    log = page.get_by_role("list", name="Audit log")
    await expect(log).to_contain_text("confirmed the email address of Grace Hopper")


async def test_a_name_that_is_refused_stays_to_be_corrected(
    chat: Server, make: Make, sign_in: SignIn
):
    owner = await sign_in(await make.user("Ada Lovelace", role=OWNER))
    page = owner.page
    await owner.go("#organization/profile")
    name = page.get_by_role("textbox", name="Name", exact=True)
    await expect(name).to_have_value("Analytical Engines")
    await name.fill("")
    await name.press("Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(name).to_have_value("")
    await name.fill("Engines")
    await name.press("Enter")
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    await expect(name).to_have_value("Engines")
    owner.complaints.clear()  # the browser reports each refused request


async def test_an_owner_deactivates_an_account_with_its_messages(
    chat: Server, make: Make, sign_in: SignIn
):
    ada = await make.user("Ada", role=OWNER, settings={"default_language": "de"})
    grace = await make.user("Grace Hopper")
    channel = await make.channel("engines", subscribers=[ada, grace])
    topic = await make.topic(channel, "")
    await make.message(grace, topic, content="<p>cog</p>")
    await make.message(ada, topic, content="<p>wheel</p>")
    person = await sign_in(ada)
    page = person.page
    await person.go("#recent")
    table = page.get_by_role("table", name="Letzte Unterhaltungen")
    await expect(table.get_by_role("columnheader", name="Unterhaltung")).to_be_visible()
    await table.get_by_role("link", name="allgemeiner Chat").click()
    await expect(person.message("cog")).to_be_visible()
    search = page.get_by_role("combobox", name="Search")
    await search.press("End")
    await search.press_sequentially(" date:2000-01-01")
    await search.press("Enter")
    await page.wait_for_url(re.compile(r"/near/\d+$"))
    await expect(person.message("cog")).to_be_focused()

    await person.go(f"#user/{grace.user_id}")
    await page.get_by_role("button", name="Deaktivieren").click()
    dialog = page.get_by_role("dialog", name="Grace Hopper deaktivieren?")
    await dialog.get_by_label("Nachrichten in öffentlichen Kanälen").check()
    await dialog.get_by_role("button", name="Deaktivieren und löschen").click()
    await expect(dialog).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(person.message("cog")).to_have_count(0)
    await expect(person.message("wheel")).to_be_visible()
    # The address is of a message that is gone, which the client asks for while it is there.
    await page.goto("about:blank")
    person.complaints.clear()
