"""`parley user list`: the accounts of an organization."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import sentences
from scripts.cli.options import WHICH_REALM, place_options, settings_beside
from scripts.cli.tables import Cell, show

if TYPE_CHECKING:
    from server.app import App


@click.command("list")
@click.option("--bots/--no-bots", default=False, help="Also list bots.  [default: no-bots]")
@click.option(
    "--deactivated/--no-deactivated",
    default=False,
    help="Also list deactivated accounts.  [default: no-deactivated]",
)
@click.option("--realm", help=WHICH_REALM)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@place_options
def list_users(
    *,
    bots: bool,
    deactivated: bool,
    realm: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List the accounts of an organization, ordered by id."""

    async def read(app: "App") -> list[dict[str, Cell]]:
        return await _rows(app, realm, with_bots=bots, with_deactivated=deactivated)

    with sentences():
        from scripts.cli.session import with_app

        rows = with_app(settings_beside(config, data), read)
    show(rows, as_json=as_json, nothing="There are no such accounts.")


async def _rows(
    app: "App", subdomain: str | None, *, with_bots: bool, with_deactivated: bool
) -> list[dict[str, Cell]]:
    from scripts.cli.session import realm_named
    from server.domain.access import ROLE_NAMES
    from storage import users

    roles = {number: name for name, number in ROLE_NAMES.items()}
    realm_id = await realm_named(app, subdomain)
    async with app.database.connection() as connection:
        rows = await users.all_of_realm(connection, realm_id)
    return [
        {
            "user id": row.user_id,
            "email": row.email,
            "name": row.full_name,
            "role": "bot" if row.bot_type is not None else roles[row.role],
            "joined": row.date_joined,
            "active": row.is_active,
        }
        for row in sorted(rows, key=lambda row: row.user_id)
        if not row.is_system_bot
        if with_bots or row.bot_type is None
        if with_deactivated or row.is_active
    ]
