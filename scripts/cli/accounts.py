"""`parley user deactivate`, `grant`, `keys` and the like: manage accounts."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scripts.cli.failures import sentences
from scripts.cli.options import NUMBER, WHICH_REALM, place_options, settings_beside
from scripts.cli.tables import Cell, show

if TYPE_CHECKING:
    from server.app import App
    from server.writer import WriteTx
    from storage.ids import RealmId, UserId

Answer = TypeVar("Answer")
Change = Callable[["App", "WriteTx", "UserId"], Awaitable[Answer]]


def person_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that name an account."""
    for option in (
        place_options,
        click.option("--realm", help=WHICH_REALM),
        click.option("--email", required=True, help="Whose account."),
    ):
        command = option(command)
    return command


@click.command()
@person_options
def deactivate(*, email: str, realm: str | None, config: Path | None, data: Path | None) -> None:
    """Deactivate an account and its bots.

    Its keys, sessions and event queues end at once. Its messages stay.
    """

    async def close(app: "App", tx: "WriteTx", user_id: "UserId") -> bool:
        from server.actions.user_activation import deactivate_user

        was_active = await _is_active(tx, user_id)
        await deactivate_user(tx, user_id, by=None, now=app.clock.now())  # bots, too
        return was_active

    done = _change(email, realm, config, data, close)
    click.echo(f"{email} is deactivated." if done else f"{email} was deactivated already.")


@click.command()
@person_options
def reactivate(*, email: str, realm: str | None, config: Path | None, data: Path | None) -> None:
    """Reactivate an account with its role, groups and channels.

    It gets a new API key. Its bots stay deactivated: administrators reactivate them one by one.
    """

    async def reopen(app: "App", tx: "WriteTx", user_id: "UserId") -> bool:
        from server.actions.user_activation import reactivate_user

        if await _is_active(tx, user_id):
            return False
        await reactivate_user(tx, user_id, by=None, now=app.clock.now())
        return True

    done = _change(email, realm, config, data, reopen)
    click.echo(f"{email} is active again." if done else f"{email} was active already.")


@click.command()
@person_options
@click.option(
    "--create-users/--no-create-users",
    required=True,
    help="Whether they may make accounts over the API, while they are an administrator.",
)
def grant(
    *,
    email: str,
    realm: str | None,
    create_users: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Grant an administrator a right that administrators do not have by default."""

    async def permit(app: "App", tx: "WriteTx", user_id: "UserId") -> None:
        del app
        from server.actions.newcomers import grant_creation

        await grant_creation(tx, user_id, create_users=create_users)

    _change(email, realm, config, data, permit)
    click.echo(f"{email} {'may' if create_users else 'may not'} make accounts.")


@click.command("reset-second-factors")
@person_options
def reset_second_factors(
    *, email: str, realm: str | None, config: Path | None, data: Path | None
) -> None:
    """Remove all second factors and recovery codes of an account, after its user has lost them.

    Its sessions end, and its own API key is replaced. The password alone signs in then.
    """

    async def reset(app: "App", tx: "WriteTx", user_id: "UserId") -> None:
        del app
        from server.actions.second_factor_requirements import reset_as_operator

        await reset_as_operator(tx, user_id)

    _change(email, realm, config, data, reset)
    click.echo(f"{email} has no second factor any more.")


@click.command()
@person_options
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def keys(
    *, email: str, realm: str | None, as_json: bool, config: Path | None, data: Path | None
) -> None:
    """List the keys that an account has created for programs, beside its own API key."""

    async def read(app: "App") -> list[dict[str, Cell]]:
        from storage import api_keys

        realm_id, user_id = await person_of(app, email, realm)
        async with app.database.connection() as connection:
            rows = await api_keys.of_user(connection, realm_id, user_id)
        return [
            {
                "number": row.key_id,
                "name": row.name,
                "begins with": row.hint,
                "reaches": ", ".join(row.scopes),
                "made": row.created_at,
                "expires": row.expires_at,
                "last used": row.last_used_at,
            }
            for row in rows
        ]

    with sentences():
        from scripts.cli.session import with_app

        rows = with_app(settings_beside(config, data), read)
    show(rows, as_json=as_json, nothing="There are none.")


@click.command()
@person_options
@click.option("--name", required=True, help="What it is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["read", "messages", "everything"]),
    help="What it reaches; may be given more than once.",
)
@click.option("--days", type=click.IntRange(1, 36_500), help="After how many it expires.")
def make_key(
    *,
    email: str,
    realm: str | None,
    name: str,
    scopes: tuple[str, ...],
    days: int | None,
    config: Path | None,
    data: Path | None,
) -> None:
    """Create a key for a program and print it, once."""
    made: list[str] = []

    async def make(app: "App", tx: "WriteTx", user_id: "UserId") -> None:
        from server.actions import api_keys
        from server.domain.api_keys import checked_scopes

        now = app.clock.now()
        expires_at = None if days is None else now + timedelta(days=days)
        new = api_keys.NewKey(name=name, scopes=checked_scopes(scopes), expires_at=expires_at)
        _, key = await api_keys.make_key(tx, user_id, new, by=None, now=now)
        made.append(key)

    _change(email, realm, config, data, make)
    click.echo(made[-1])


@click.command()
@person_options
@click.option("--number", required=True, type=NUMBER, help="As `parley user keys` says.")
def revoke_key(
    *, email: str, realm: str | None, number: int, config: Path | None, data: Path | None
) -> None:
    """Revoke a key; requests with it are refused at once."""

    async def revoke(app: "App", tx: "WriteTx", user_id: "UserId") -> None:
        del app
        from server.actions import api_keys
        from storage.ids import ApiKeyId

        await api_keys.revoke_key(tx, user_id, ApiKeyId(number), by=None)

    _change(email, realm, config, data, revoke)
    click.echo(f"Key {number} of {email} is revoked.")


def _change(
    email: str,
    realm: str | None,
    config: Path | None,
    data: Path | None,
    change: Change[Answer],
) -> Answer:
    """Run the change on the account with this address, with or without a running server."""

    async def run(app: "App") -> Answer:
        realm_id, user_id = await person_of(app, email, realm)
        return await app.writers.of(realm_id).write(lambda tx: change(app, tx, user_id))

    with sentences():
        from scripts.cli.session import with_app

        return with_app(settings_beside(config, data), run)


async def _is_active(tx: "WriteTx", user_id: "UserId") -> bool:
    from storage import users

    found = await users.by_ids(await tx.connection(), tx.realm_id, [user_id])
    return any(row.is_active for row in found)


async def person_of(app: "App", email: str, realm: str | None) -> tuple["RealmId", "UserId"]:
    """Return the organization and the account of this address. Raises Failure."""
    from scripts.cli.session import person_named, realm_named

    realm_id = await realm_named(app, realm)
    async with app.database.connection() as connection:
        return realm_id, await person_named(connection, realm_id, email)


COMMANDS = (deactivate, reactivate, grant, reset_second_factors, keys, make_key, revoke_key)
