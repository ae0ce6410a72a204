"""Passkeys in a real Chromium, with a virtual authenticator: added, and used both ways."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page, expect

from testkit.clients.chromium import PATIENCE_MS, chromium
from testkit.clients.page_client import PASSWORD, give_password
from testkit.clients.server import serve
from testkit.test_services import BROWSERS

pytestmark = pytest.mark.asyncio

PLACE = "http://localhost"
SECURITY_KEY = {"protocol": "ctap2", "transport": "usb", "hasResidentKey": False}
PHONE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


class Device:
    """A virtual authenticator of a page."""

    def __init__(self, session: Any, number: str) -> None:
        self._session = session
        self._number = number

    @classmethod
    async def plug_in(cls, page: Page, options: dict[str, Any]) -> "Device":
        session = await page.context.new_cdp_session(page)
        await session.send("WebAuthn.enable")
        wanted = {"automaticPresenceSimulation": True, **options}
        made = await session.send("WebAuthn.addVirtualAuthenticator", {"options": wanted})
        return cls(session, made["authenticatorId"])

    async def credentials(self) -> list[dict[str, Any]]:
        found = await self._session.send(
            "WebAuthn.getCredentials", {"authenticatorId": self._number}
        )
        return list(found["credentials"])

    async def rewind(self) -> None:
        """Count as a copy of it does that was made before its last use."""
        [own] = await self.credentials()
        await self._session.send("WebAuthn.clearCredentials", {"authenticatorId": self._number})
        await self._session.send(
            "WebAuthn.addCredential",
            {"authenticatorId": self._number, "credential": own | {"signCount": 0}},
        )


@asynccontextmanager
async def opened(database_url: str) -> AsyncIterator[Any]:
    """A function that opens a page of a new browser profile, and has the complaints of all."""
    settings: dict[str, Any] = {"root_domain": None, "external_url": PLACE, "gravatars": False}
    async with (
        serve(database_url, **settings) as server,
        chromium(BROWSERS, f"--host-resolver-rules=MAP localhost:80 127.0.0.1:{server.port}") as it,
    ):
        complaints: list[str] = []
        contexts: list[BrowserContext] = []

        async def page() -> Page:
            context = await it.new_context()
            contexts.append(context)
            context.set_default_timeout(PATIENCE_MS)
            page = await context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on(
                "console",
                lambda line: complaints.append(line.text) if "Policy" in line.text else None,
            )
            return page

        yield page
        assert complaints == []


@pytest.fixture
def realm(make):
    async def realm():
        await make.connection.execute(
            "UPDATE realms SET subdomain = '' WHERE realm_id = %(id)s", id=make.realm_id
        )
        ada = await make.user("Ada Lovelace", email="ada@example.com")
        await give_password(make, ada)
        return ada

    return realm


async def first_step(page: Page, place: str = "/account/second-factors") -> None:
    await page.goto(f"{PLACE}/login/?next={place}")
    await page.fill("[name=username]", "ada@example.com")
    await page.fill("[name=password]", PASSWORD)
    await page.press("[name=password]", "Enter")


async def add_passkey(page: Page) -> None:
    await page.fill("#passkey-name", "Device")
    await page.fill("#password-for-passkey", PASSWORD)
    await page.get_by_role("button", name="Add a passkey").click()
    await expect(page.locator("#recovery-codes")).to_be_visible()


async def test_a_passkey_signs_in_alone_and_beside_the_password(database_url, realm, make):
    await realm()
    async with opened(database_url) as open_page:
        page = await open_page()
        phone = await Device.plug_in(page, PHONE)
        await first_step(page)
        await add_passkey(page)
        [credential] = await phone.credentials()
        assert credential["rpId"] == "localhost"
        kept = await make.connection.value("SELECT credential_id FROM second_factors")
        assert kept is not None

        # Instead of the password.
        await page.locator("#sign-out").click()
        await page.goto(f"{PLACE}/login/?next=/account")
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await page.wait_for_url(f"{PLACE}/account")

        # As the second factor.
        await page.locator("#sign-out").click()
        await first_step(page, "/account")
        await expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
        await page.get_by_role("button", name="Use a passkey").click()
        await page.wait_for_url(f"{PLACE}/account")

        # A browser without it is not signed in by the password.
        other = await open_page()
        await Device.plug_in(other, PHONE)
        await first_step(other, "/account")
        await other.get_by_role("button", name="Use a passkey").click()
        await expect(other.get_by_role("alert")).to_have_text(
            "Your browser did not give a passkey. Try again."
        )
        await other.goto(f"{PLACE}/account")
        assert other.url.startswith(f"{PLACE}/login/")


async def test_a_key_without_a_verified_user_is_a_second_factor_only(database_url, realm):
    await realm()
    async with opened(database_url) as open_page:
        page = await open_page()
        key = await Device.plug_in(page, SECURITY_KEY)
        await first_step(page)
        await add_passkey(page)
        assert len(await key.credentials()) == 1
        await page.locator("#sign-out").click()
        await page.goto(f"{PLACE}/login/")
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await first_step(page, "/account")
        await page.get_by_role("button", name="Use a passkey").click()
        await page.wait_for_url(f"{PLACE}/account")


async def test_a_copy_of_a_passkey_is_refused(database_url, realm):
    await realm()
    async with opened(database_url) as open_page:
        page = await open_page()
        key = await Device.plug_in(page, SECURITY_KEY)
        await first_step(page)
        await add_passkey(page)
        await page.locator("#sign-out").click()
        await key.rewind()
        await first_step(page, "/account")
        await page.get_by_role("button", name="Use a passkey").click()
        await expect(page.locator("#problem")).to_contain_text("This passkey is not known here")


async def test_the_same_device_is_not_added_twice(database_url, realm, make):
    await realm()
    async with opened(database_url) as open_page:
        page = await open_page()
        await Device.plug_in(page, PHONE)
        await first_step(page)
        await add_passkey(page)
        await page.goto(f"{PLACE}/account/second-factors")
        await page.fill("#password-for-passkey", PASSWORD)
        await page.get_by_role("button", name="Add a passkey").click()
        await expect(page.locator("#add-passkey").get_by_role("alert")).to_be_visible()
        assert await make.connection.value("SELECT count(*) FROM second_factors") == 1


async def test_a_deactivated_users_passkey_is_refused(database_url, realm, make):
    ada = await realm()
    async with opened(database_url) as open_page:
        page = await open_page()
        await Device.plug_in(page, PHONE)
        await first_step(page)
        await add_passkey(page)
        await page.locator("#sign-out").click()
        await page.goto(f"{PLACE}/login/")
        await make.connection.execute(
            "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=ada.user_id
        )
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(page.locator("#problem")).to_have_text("Account is deactivated")
