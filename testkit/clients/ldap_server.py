"""Servers that know people by a directory, and tries to sign in there."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from testkit.clients.api import Answer, Client
from testkit.clients.server import Server
from testkit.services.ldap import PEOPLE, READER, READER_PASSWORD, People
from testkit.services.mail_server import Certificate

SECRET = "a secret of the directory"


@pytest.fixture
def ldap_search(people: People, certificate: Certificate) -> dict[str, Any]:
    """The settings of a server that looks for people."""
    return {
        "ldap_url": people.url,
        "ldap_ca": str(certificate.folder / "certificate.pem"),
        "ldap_bind_dn": READER,
        "ldap_bind_password": READER_PASSWORD,
        "ldap_base": PEOPLE,
    }


@pytest.fixture
def ldap_names(people: People, certificate: Certificate) -> dict[str, Any]:
    """The settings of one that knows how their entries are called."""
    return {
        "ldap_url": people.tls_url,
        "ldap_ca": str(certificate.folder / "certificate.pem"),
        "ldap_user_dn": f"uid=%s,{PEOPLE}",
    }


@dataclass
class Asking:
    """`await ask("grace", SECRET)`: tries a name and a password."""

    server: Server
    client: Client

    async def __call__(self, username: str, password: str) -> Answer:
        return await self.client.call(
            "POST", "/fetch_api_key", username=username, password=password
        )


@pytest.fixture
def asking(
    serving_with: Any, connect: Any, make: Any
) -> Callable[[dict[str, Any]], AbstractAsyncContextManager[Asking]]:
    """`async with asking(settings) as ask:` a server with these settings."""

    @asynccontextmanager
    async def asking(settings: dict[str, Any]) -> AsyncIterator[Asking]:
        async with serving_with(**settings) as server:
            yield Asking(server, await connect(server, make.realm_id))

    return asking


@pytest.fixture
def grace(people: People) -> str:
    """A person of the directory without an account."""
    return people.put("grace", SECRET, cn="Grace Hopper", mail="grace@example.com")


@pytest_asyncio.fixture
async def of_directory(make: Any) -> None:
    """An organization with the directory's people as its users."""
    await make.change_settings(authentication_methods=["LDAP"], invite_required=False)
