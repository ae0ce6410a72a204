"""`parley activity`: requests of users and their clients."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import sentences
from scripts.cli.options import WHICH_REALM, limit_option, place_options, settings_beside
from scripts.cli.tables import Cell, show

if TYPE_CHECKING:
    from server.app import App


@click.command()
@click.option("--of", "email", help="Only of the person with this address.")
@limit_option(50)
@click.option("--realm", help=WHICH_REALM)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@place_options
def activity(
    *,
    email: str | None,
    limit: int,
    realm: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Show the requests of users and their clients, latest first, with counts."""
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        rows = with_app(settings, lambda app: _read(app, realm, email=email, limit=limit))
    show(rows, as_json=as_json, nothing="There were no requests.")


async def _read(
    app: "App", subdomain: str | None, *, email: str | None, limit: int
) -> list[dict[str, Cell]]:
    from scripts.cli.session import person_named, realm_named
    from storage import user_activity, users

    realm_id = await realm_named(app, subdomain)
    async with app.database.connection() as connection:
        user_id = None if email is None else await person_named(connection, realm_id, email)
        rows = await user_activity.newest(connection, realm_id, limit=limit, user_id=user_id)
        ids = sorted({row.user_id for row in rows})
        names = {row.user_id: row.email for row in await users.by_ids(connection, realm_id, ids)}
    return [
        {
            "who": names.get(row.user_id),
            "client": row.client,
            "what": row.what,
            "times": row.count,
            "last": row.last_at,
        }
        for row in rows
    ]
