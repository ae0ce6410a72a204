"""Ways to the browser client in a real browser: what its scripts do before it runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from server.actions.sign_in_links import make_sign_in_token
from server.domain.confirmations import SIGN_IN_HERE
from server.domain.desktop_flow import encrypted
from testkit.clients.browser import Page, new_page
from testkit.clients.page_client import PASSWORD
from testkit.clients.server import Server, serve
from testkit.clients.web_build import write_build
from testkit.services.oauth_provider import CLIENT_ID, SECRET, Provider

pytestmark = pytest.mark.asyncio

WANTED = "#narrow/channel/46-policy/topic/x.20y/near/123"
KEY = "5c" * 32
BRIDGE = """
window.electron_bridge = {decrypt_clipboard: version => ({
  version,
  key: new Uint8Array(32).fill(0x5c),
  pasted: new Promise(done => { window.paste = done; }),
})};
window.open = url => { window.opened = String(url); };
"""
"""What the app gives its windows, as far as signing in needs it."""


@pytest_asyncio.fixture
async def server(
    database, database_url: str, make, tmp_path: Path, provider: Provider
) -> AsyncIterator[Server]:
    await make.connection.execute(
        "UPDATE realms SET subdomain = '', name = 'Analytical Engines' WHERE realm_id = %(id)s",
        id=make.realm_id,
    )
    await make.change_settings(authentication_methods=["Email", "OpenID Connect"])
    own = {"client_id": CLIENT_ID, "client_secret": SECRET, "issuer": provider.url}
    async with serve(
        database_url,
        root_domain=None,
        gravatars=False,
        web_client=write_build(tmp_path / "client"),
        sign_in_providers={"own": own},
    ) as running:
        yield running


async def sign_in(page: Page, email: str) -> None:
    await page.fill("#username", email)
    await page.fill("#password", PASSWORD)
    await page.follow("button.main")


async def test_the_client_runs_at_the_place_that_was_asked_for(server: Server, page: Page, ada):
    await page.go(f"{server.url}/{WANTED}")
    assert await page.text("h1") == "Sign in to Analytical Engines"
    place = await page.run("document.querySelector('#with-own').search")
    assert place == "?next=%2F%23narrow%2Fchannel%2F46-policy%2Ftopic%2Fx.20y%2Fnear%2F123"
    await sign_in(page, ada.email)
    await page.until("document.title == 'Chat'")
    assert await page.run("location.pathname + location.hash") == f"/{WANTED}"
    refused = "(() => { try { document.body.innerHTML = '<p>'; } catch (e) { return e.name; } })()"
    assert await page.run(refused) == "TypeError"
    assert [text for text in page.complaints if "TrustedHTML" not in text] == []


async def test_styles_of_messages_are_set_by_script_alone(server: Server, page: Page, ada):
    """The client moves `style` attributes of the server's HTML into the object model."""
    await page.go(server.url)
    await sign_in(page, ada.email)
    await page.until("document.title == 'Chat'")
    aligned = """(() => {
        const cell = document.body.appendChild(document.createElement("p"));
        HOW;
        return getComputedStyle(cell).textAlign;
    })()"""
    for how, expected in (
        ("cell.style.cssText = 'text-align: right;'", "right"),
        ("cell.setAttribute('style', 'text-align: right;')", "start"),
    ):
        assert await page.run(aligned.replace("HOW", how)) == expected, how


async def test_a_link_signs_in_and_leaves_the_address_bar(server: Server, page: Page, make, ada):
    token = await server.app.writers.of(make.realm_id).write(
        lambda tx: make_sign_in_token(tx, ada.user_id, purpose=SIGN_IN_HERE)
    )
    await page.go(f"{server.url}/sign-in-link/#{token}")
    await page.until("!location.hash")
    assert await page.run("document.querySelector('#token').offsetParent") is None
    await page.follow("button.main")
    await page.until("document.title == 'Chat'")
    assert page.complaints == []


async def test_the_window_of_the_app_signs_in_with_what_the_app_pastes(
    server: Server, browser_address: str, make, ada
):
    async with new_page(browser_address) as window:
        agent = "ZulipElectron/5.12.4 (Linux) Electron/37.0"
        await window.ask("Network.setUserAgentOverride", userAgent=agent)
        await window.ask("Page.addScriptToEvaluateOnNewDocument", source=BRIDGE)
        await window.go(f"{server.url}/accounts/login/social/own?next=%2Faccount")
        await window.until("Boolean(window.opened)")
        opened = await window.run("window.opened")
        assert opened == (
            f"{server.url}/accounts/login/social/own?next=%2Faccount&desktop_flow_otp={KEY}"
        )
        await window.run("document.querySelector('#open-browser').click()")
        token = await server.app.writers.of(make.realm_id).write(
            lambda tx: make_sign_in_token(tx, ada.user_id, purpose=SIGN_IN_HERE)
        )
        await window.run(f"window.paste('{token}'), true")
        await window.until("location.pathname == '/account'")
        assert "Ada Lovelace" in await window.text()


async def test_without_the_app_what_is_pasted_is_decrypted_by_the_page(
    server: Server, browser_address: str, make, ada
):
    async with new_page(browser_address) as window:
        agent = "ZulipElectron/5.12.4 (Linux) Electron/37.0"
        await window.ask("Network.setUserAgentOverride", userAgent=agent)
        opened = "window.open = url => { window.opened = String(url); };"
        await window.ask("Page.addScriptToEvaluateOnNewDocument", source=opened)
        await window.go(f"{server.url}/accounts/login/social/own")
        await window.until("Boolean(window.opened)")
        key = await window.run("new URL(window.opened).searchParams.get('desktop_flow_otp')")
        await window.fill("#pasted", "5c5c")
        await window.until("!document.querySelector('#wrong-token').hidden")
        token = await server.app.writers.of(make.realm_id).write(
            lambda tx: make_sign_in_token(tx, ada.user_id, purpose=SIGN_IN_HERE)
        )
        await window.fill("#pasted", encrypted(token, key))
        await window.until("document.title == 'Chat'")


async def test_the_browser_copies_the_token(server: Server, page: Page, ada):
    await page.go(f"{server.url}/login/?desktop_flow_otp={KEY}")
    await sign_in(page, ada.email)
    assert await page.text("h1") == "Back to the app"
    await page.click("#copy")
    await page.until("document.querySelector('#copied').textContent != ''")
    assert len(await page.text("#desktop-token")) > 100
    assert page.complaints == []
