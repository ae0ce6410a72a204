"""The pages by which people sign in, in a real browser."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from testkit.clients.browser import CONTRAST, Page
from testkit.clients.mailing_server import Posting
from testkit.clients.page_client import PASSWORD
from testkit.clients.server import Server, serve
from testkit.services.mail_server import Sink

pytestmark = pytest.mark.asyncio

NEW = "another good password"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest_asyncio.fixture
async def posting(database, database_url: str, make, sink: Sink) -> AsyncIterator[Posting]:
    """A server at which every address is the organization's: a browser cannot choose a host."""
    await make.connection.execute(
        "UPDATE realms SET subdomain = '', name = 'Analytical Engines' WHERE realm_id = %(id)s",
        id=make.realm_id,
    )
    await make.change_settings(invite_required=False)
    mail: dict[str, Any] = {"smtp_host": "127.0.0.1", "smtp_port": sink.port}
    async with serve(database_url, root_domain=None, **mail, smtp_security="none") as running:
        yield Posting(running, sink, make.realm_id)


@pytest.fixture
def server(posting: Posting) -> Server:
    return posting.server


async def sign_in(page: Page, server: Server, email: str) -> None:
    await page.go(server.url)
    await page.fill("#username", email)
    await page.fill("#password", PASSWORD)
    await page.follow("button.main")


async def test_a_user_signs_in_by_keyboard_and_out(server, page: Page, ada):
    await page.go(server.url)
    assert await page.text("h1") == "Sign in to Analytical Engines"
    await page.until("document.activeElement.id == 'username'")
    await page.write(ada.email)
    await page.press("Tab")
    await page.write("wrong")
    await page.press("Enter")
    await page.loaded()
    assert await page.text("[role=alert]") == "The email address or the password is incorrect."
    assert await page.run("document.querySelector('#username').value") == ada.email
    await page.until("document.activeElement.id == 'password'")
    await page.write(PASSWORD)
    await page.press("Enter")
    await page.loaded()
    assert await page.text("h1") == "You are signed in to Analytical Engines"
    assert await page.run("document.cookie.includes('parley_session')") is False
    await page.follow("#sign-out")
    assert await page.text("h1") == "Sign in to Analytical Engines"
    await page.go(server.url)
    assert await page.text("h1") == "Sign in to Analytical Engines"
    assert page.complaints == [
        "Failed to load resource: the server responded with a status of 401 (Unauthorized)"
    ]


async def test_a_forgotten_password_is_replaced(server, posting: Posting, page: Page, ada):
    await page.go(f"{server.url}/login")
    await page.follow("#forgotten")
    await page.fill("#email", ada.email)
    await page.follow("button.main")
    assert await page.text("h1") == "Read your email"
    await page.go(server.url + posting.link(await posting.mail()))
    await page.fill("#new_password", "password1")
    await page.follow("button.main")
    assert "too easy to guess" in await page.text("[role=alert]")
    await page.fill("#new_password", NEW)
    await page.follow("button.main")
    assert "Your password has been changed" in await page.text("[role=status]")
    await page.fill("#username", ada.email)
    await page.fill("#password", NEW)
    await page.follow("button.main")
    assert await page.text("h1") == "You are signed in to Analytical Engines"


async def test_a_new_user_joins_and_manages_their_account(
    server, posting: Posting, page: Page, tmp_path: Path
):
    await page.go(f"{server.url}/login")
    await page.follow("#join")
    await page.fill("#email", "grace@example.com")
    await page.follow("button.main")
    await page.go(server.url + posting.link(await posting.mail()))
    await page.picture(tmp_path / "join.png")
    await page.fill("#full_name", "Grace Hopper")
    await page.fill("#new_password", NEW)
    await page.follow("button.main")
    assert await page.text("h1") == "You are signed in to Analytical Engines"
    await page.follow("#account")
    assert "grace@example.com" in await page.text("dl")
    await page.fill("#password-for-key", NEW)
    await page.follow("#show-key")
    assert len(await page.text("#api-key")) == 32
    await page.follow("#sign-out")
    assert await page.text("h1") == "Sign in to Analytical Engines"
    assert page.complaints == []


@pytest.mark.parametrize("mode", ["light", "dark"])
async def test_pages_can_be_read_on_a_desk_and_on_a_phone(
    server, page: Page, ada, mode: str, tmp_path: Path
):
    async def can_be_read(name: str) -> None:
        for width in (390, 1280):
            await page.look_like(width=width, dark=mode == "dark", still=True)
            await page.picture(tmp_path / f"{name}-{mode}-{width}.png")
            assert await page.run(CONTRAST) == [], name
            assert await page.run(WIDER) == 0, (name, width)
            assert await page.run("document.querySelectorAll('h1').length") == 1

    await page.look_like(width=390, dark=mode == "dark", still=True)
    await page.go(f"{server.url}/login")
    await can_be_read("sign-in")
    await page.fill("#username", "somebody.with.a.long.address@example.com")
    await page.fill("#password", "wrong")
    await page.follow("button.main")
    await can_be_read("refused")
    await sign_in(page, server, ada.email)
    await can_be_read("home")
    await page.go(f"{server.url}/account")
    await can_be_read("account")
    for name in ("accounts/password/reset", "register", "register?sent=yes"):
        await page.go(f"{server.url}/{name}")
        await can_be_read(name.replace("/", "-"))
    await page.go(f"{server.url}/nothing")
    await can_be_read("nothing")
