"""Run commands that write like a server process, with events to all clients."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from scripts.cli.database import database_of
from scripts.cli.failures import Failure

if TYPE_CHECKING:
    from server.app import App
    from server.settings import Settings
    from storage.database import Connection
    from storage.ids import RealmId, UserId

Result = TypeVar("Result")

MOST_SHOWN = 20
"""The maximum number of organizations listed in an error."""


def with_app(
    settings: "Settings",
    work: "Callable[[App], Awaitable[Result]]",
    *,
    may_found: bool = False,
) -> Result:
    """Run work with an App, with or without a running server, and return its result."""
    from server.app import open_app

    async def run(ready: "Settings") -> Result:
        async with open_app(ready) as app:
            return await work(app)

    with database_of(settings, may_found=may_found) as ready:
        return asyncio.run(run(ready))


async def person_named(connection: "Connection", realm_id: "RealmId", email: str) -> "UserId":
    """Return the account with this address."""
    from storage import users

    found = await users.by_emails(connection, realm_id, [email])
    if not found:
        raise Failure(f"No account has the address {email}.")
    return found[0].user_id


async def realm_named(app: "App", subdomain: str | None) -> "RealmId":
    """Return the organization of this subdomain; without one, the only organization.

    The empty subdomain is the organization at the server's own address.
    """
    from storage import realms

    async with app.database.connection() as connection:
        found = {row.subdomain: row.realm_id for row in await realms.all_of_them(connection)}
    if subdomain is not None:
        if subdomain in found:
            return found[subdomain]
        if not subdomain:
            raise Failure("There is no organization at the server's own address.")
        raise Failure(f"There is no organization at the subdomain `{subdomain}`.")
    if not found:
        raise Failure("There is no organization yet: make one with `parley realm create`.")
    if len(found) > 1:
        raise Failure(_several(sorted(found)))
    [only] = found.values()
    return only


async def called(app: "App", realm_id: "RealmId") -> str:
    """Return an organization's name with its address."""
    row = await app.realm_caches.of(realm_id).realm()
    place = f"the subdomain `{row.subdomain}`" if row.subdomain else "the server's own address"
    return f"{row.name}, at {place},"


def _several(subdomains: list[str]) -> str:
    shown = [each or "''" for each in subdomains[:MOST_SHOWN]]
    if more := len(subdomains) - len(shown):
        shown.append(f"{more} more")
    own = "" if subdomains[0] else " ('' is the one at the server's own address)"
    return (
        "There are several organizations: say which with --realm SUBDOMAIN."
        f" There are {', '.join(shown)}{own}."
    )
