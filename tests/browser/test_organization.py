"""Pages of the organization: folders, groups of channels, linkifiers, playgrounds."""

import pytest
from playwright.async_api import Page, expect

from server.domain.access import OWNER
from testkit.clients.server import Server
from testkit.factories import Make
from tests.browser.conftest import SignIn

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
    owner = await sign_in(ada)
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
    await owner.go(f"#narrow/channel/{channel.channel_id}-engines/topic/notes")
    await owner.write("```python\nprint('a & b')\n```\n\n```ruby\nputs 1\n```")
    link = owner.page.get_by_role("link", name="Open in Runner")
    await expect(link).to_have_count(1)
    await expect(link).to_have_attribute(
        "href", "https://run.example/?code=print%28%27a%20%26%20b%27%29"
    )
    await owner.go("#organization/playgrounds")
    await page.get_by_role("button", name="Remove Python: Runner").click()
    await expect(page.get_by_text("There are none yet.")).to_be_visible()
