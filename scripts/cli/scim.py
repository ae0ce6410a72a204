"""`parley scim`: tokens with which directories provision accounts, and their limit."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import NUMBER, WHICH_REALM, place_options, settings_beside

if TYPE_CHECKING:
    from server.app import App
    from storage.ids import RealmId

Answer = TypeVar("Answer")


@click.group()
def scim() -> None:
    """Let directories such as Okta and Entra provision accounts (SCIM 2.0)."""


@scim.command("create-token")
@click.option("--name", required=True, help="Which directory gets it.")
@click.option("--realm", "subdomain", help=WHICH_REALM)
@place_options
def create_token(
    *, name: str, subdomain: str | None, config: Path | None, data: Path | None
) -> None:
    """Print the service's address and a new token, which is shown only once."""

    async def create(app: "App", realm_id: "RealmId") -> tuple[str, str]:
        from server.actions.scim.tokens import create_token as create_it
        from server.domain.scim import PREFIX

        writer = app.writers.of(realm_id)
        _id, token = await writer.write(lambda tx: create_it(tx, name, by=None))
        address = await app.realm_caches.of(realm_id).address()
        return address.url + PREFIX, token

    url, token = _run(subdomain, config, data, create)
    click.echo(f"Address: {url}\nToken:   {token}")


@scim.command()
@click.option("--realm", "subdomain", help=WHICH_REALM)
@place_options
def tokens(*, subdomain: str | None, config: Path | None, data: Path | None) -> None:
    """List tokens, with the first characters of each and the time of the last request."""

    async def read(app: "App", realm_id: "RealmId") -> list[str]:
        from storage import scim as rows

        async with app.database.connection() as connection:
            found = await rows.tokens(connection, realm_id)
        return [
            f"{row.token_id}  {row.hint}...  {row.name}, {_last_use(row.last_used_at)}"
            for row in found
        ]

    for line in _run(subdomain, config, data, read):
        click.echo(line)


@scim.command("revoke-token")
@click.option("--id", "token_id", type=NUMBER, required=True, help="Its number in the list.")
@click.option("--realm", "subdomain", help=WHICH_REALM)
@place_options
def revoke_token(
    *, token_id: int, subdomain: str | None, config: Path | None, data: Path | None
) -> None:
    """Revoke a token: the next request with it is refused."""

    async def revoke(app: "App", realm_id: "RealmId") -> None:
        from server.actions.scim.tokens import revoke_token as revoke_it
        from server.domain.errors import BadRequestError
        from storage.ids import ScimTokenId

        writer = app.writers.of(realm_id)
        try:
            await writer.write(lambda tx: revoke_it(tx, ScimTokenId(token_id), by=None))
        except BadRequestError as error:
            raise Failure(error.message) from error

    _run(subdomain, config, data, revoke)
    click.echo("The token is revoked.")


@scim.command("allow-closures")
@click.option("--realm", "subdomain", help=WHICH_REALM)
@place_options
def allow_closures(*, subdomain: str | None, config: Path | None, data: Path | None) -> None:
    """Let directories deactivate any number of accounts for a day."""

    async def allow(app: "App", realm_id: "RealmId") -> datetime:
        from server.actions.scim.closures import allow_closures as allow_them

        writer, now = app.writers.of(realm_id), app.clock.now()
        return await writer.write(lambda tx: allow_them(tx, by=None, now=now))

    ends_at = _run(subdomain, config, data, allow)
    click.echo(f"Directories may deactivate any number of accounts until {ends_at:%Y-%m-%d %H:%M}.")


def _last_use(used_at: datetime | None) -> str:
    return "never used" if used_at is None else f"last used {used_at:%Y-%m-%d %H:%M}"


def _run(
    subdomain: str | None,
    config: Path | None,
    data: Path | None,
    work: "Callable[[App, RealmId], Awaitable[Answer]]",
) -> Answer:
    """Run the work on the organization; report problems in one sentence."""

    async def run(app: "App") -> Answer:
        from scripts.cli.session import realm_named

        return await work(app, await realm_named(app, subdomain))

    with sentences():
        from scripts.cli.session import with_app

        return with_app(settings_beside(config, data), run)
