"""GET /server_settings."""

from dataclasses import replace

import pytest

from server.runtime.version import FEATURE_LEVEL
from testkit.clients.api import Client
from testkit.clients.server import ROOT_DOMAIN
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio


async def test_a_client_learns_what_it_needs_before_signing_in(spectator, make):
    client = await spectator()

    body = await client.get("/server_settings")

    assert body["zulip_feature_level"] == body["service_feature_level"] == FEATURE_LEVEL
    assert body["realm_name"] == "A realm"
    assert body["realm_url"] == body["realm_uri"]
    assert body["realm_url"] == f"http://{client.host}:{client.server.app.settings.port}"
    assert body["authentication_methods"]["password"] is True
    assert body["authentication_methods"]["dev"] is False
    assert body["is_incompatible"] is False
    assert body["realm_web_public_access_enabled"] is False
    contract.validate_mobile(body, "response", "GET /server_settings")


async def test_the_root_of_a_server_with_subdomains_has_no_realm(server):
    client = Client(server, ROOT_DOMAIN)

    body = await client.get("/server_settings")

    assert not any(name.startswith("realm_") for name in body)


@pytest.mark.parametrize(
    ("user_agent", "is_incompatible"),
    [
        ("ZulipMobile/26.2 (Android 9)", True),
        ("ZulipMobile/27.235 (iOS 17)", False),
        ("ZulipFlutter/30.0.250 (Android 14)", False),
        ("ZulipInvalid/1.0", True),
        ("Mozilla/5.0", False),
        ("strange", False),
    ],
)
async def test_old_clients_are_told_that_they_are(spectator, user_agent, is_incompatible):
    client = replace(await spectator(), user_agent=user_agent)

    body = await client.get("/server_settings")

    assert body["is_incompatible"] == is_incompatible


async def test_an_organization_without_passwords_says_so(spectator, make):
    await make.change_settings(authentication_methods=[])

    body = await (await spectator()).get("/server_settings")

    assert body["authentication_methods"]["password"] is False
    assert body["email_auth_enabled"] is False


async def test_spectators_are_welcome_where_a_channel_is_open_to_them(serving_with, connect, make):
    await make.change_settings(enable_spectator_access=True)
    async with serving_with(web_public_channels=True) as server:
        client = await connect(server, make.realm_id)
        before = await client.get("/server_settings")
        await make.channel("square", is_web_public=True)
        after = await client.get("/server_settings")

    assert before["realm_web_public_access_enabled"] is False
    assert after["realm_web_public_access_enabled"] is True
