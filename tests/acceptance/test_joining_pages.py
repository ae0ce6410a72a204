"""An invitation is accepted in a real browser."""

from pathlib import Path

import pytest
import pytest_asyncio

from testkit.clients.browser import CONTRAST, Page
from testkit.clients.invitations import Reception
from testkit.clients.page_client import PASSWORD

pytestmark = pytest.mark.asyncio

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def reception_settings() -> dict[str, object]:
    """Every address is the organization's: a browser cannot choose a host."""
    return {"root_domain": None}


@pytest_asyncio.fixture
async def named(reception: Reception) -> Reception:
    await reception.make.connection.execute(
        "UPDATE realms SET subdomain = '', name = 'Analytical Engines' WHERE realm_id = %(id)s",
        id=reception.make.realm_id,
    )
    reception.server.forget(reception.make.realm_id)
    return reception


async def test_a_new_user_joins_by_keyboard(named: Reception, page: Page):
    link = await named.invited()
    await page.go(named.server.url + link)
    assert await page.text("h1") == "Join Analytical Engines"
    await page.until("document.activeElement.id == 'full_name'")
    await page.write("Ada Lovelace")
    await page.press("Tab")
    await page.write("short")
    await page.press("Enter")  # the browser itself asks for more
    await page.until("document.activeElement.id == 'new_password'")
    await page.write(PASSWORD)
    await page.press("Enter")
    await page.loaded()
    assert await page.text("h1") == "You are signed in to Analytical Engines"
    assert await page.text("#account") == "Ada Lovelace"
    await page.go(named.server.url + link)
    assert await page.text("#problem") == (
        "This invitation has been used. Sign in with the account that was made by it."
    )


@pytest.mark.parametrize("mode", ["light", "dark"])
async def test_pages_can_be_read_on_a_desk_and_on_a_phone(
    named: Reception, page: Page, mode: str, tmp_path: Path
):
    async def can_be_read(name: str) -> None:
        for width in (390, 1280):
            await page.look_like(width=width, dark=mode == "dark", still=True)
            await page.picture(tmp_path / f"{name}-{mode}-{width}.png")
            assert await page.run(CONTRAST) == [], name
            assert await page.run(WIDER) == 0, (name, width)
            assert await page.run("document.querySelectorAll('h1').length") == 1

    link = await named.invited(invitee_emails="somebody.with.a.long.address@mail.example.com")
    url = (await named.boss.post("/invites/multiuse"))["invite_link"]
    await page.look_like(width=390, dark=mode == "dark", still=True)
    await page.go(named.server.url + link)
    await can_be_read("join")
    await page.fill("#full_name", "@all")
    await page.fill("#new_password", PASSWORD)
    await page.follow("button.main")
    await can_be_read("wrong")
    await page.go(f"{named.server.url}/join/{url.rpartition('/')[2]}")
    await can_be_read("address")
    await page.fill("#email", "bob@example.com")
    await page.follow("button.main")
    await can_be_read("sent")
    await page.go(f"{named.server.url}/join/nonsense")
    await can_be_read("nothing")
