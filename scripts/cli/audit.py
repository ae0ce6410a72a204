"""`parley audit`: the audit log."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import sentences
from scripts.cli.options import NUMBER, WHICH_REALM, limit_option, place_options, settings_beside
from scripts.cli.tables import Cell, show

if TYPE_CHECKING:
    from server.app import App


@click.command()
@click.option("--by", "email", help="Only what the person with this address did.")
@click.option("--action", help="Only changes of this kind, like realm_changed.")
@click.option("--before", type=NUMBER, help="Only what is older than the entry of this number.")
@limit_option(50)
@click.option("--realm", help=WHICH_REALM)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@place_options
def audit(
    *,
    email: str | None,
    action: str | None,
    before: int | None,
    limit: int,
    realm: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Show an organization's audit log, newest first, with values before and after."""
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        rows = with_app(
            settings,
            lambda app: _read(app, realm, email=email, action=action, below=before, limit=limit),
        )
    show(rows, as_json=as_json, nothing="Nothing has been changed.")


async def _read(
    app: "App",
    subdomain: str | None,
    *,
    email: str | None,
    action: str | None,
    below: int | None,
    limit: int,
) -> list[dict[str, Cell]]:
    from scripts.cli.session import person_named, realm_named
    from storage import audit_log, users

    realm_id = await realm_named(app, subdomain)
    async with app.database.connection() as connection:
        actor_id = None if email is None else await person_named(connection, realm_id, email)
        rows = await audit_log.newest(
            connection, realm_id, limit=limit, below=below, actor_id=actor_id, action=action
        )
        actors = {row.actor_id for row in rows if row.actor_id is not None}
        names = {
            row.user_id: row.email
            for row in await users.by_ids(connection, realm_id, sorted(actors))
        }
    return [
        {
            "number": row.audit_id,
            "when": row.happened_at,
            "who": None if row.actor_id is None else names.get(row.actor_id),
            "what": row.action,
            "of": row.subject_id,
            "before": json.dumps(row.before, ensure_ascii=False),
            "after": json.dumps(row.after, ensure_ascii=False),
        }
        for row in rows
    ]
