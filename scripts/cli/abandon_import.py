"""`parley realm abandon-import`: give up an import that has not ended."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import WHICH_REALM, place_options, settings_beside
from server.runtime.formatting import counted

if TYPE_CHECKING:
    from server.app import App
    from server.imports.abandoning import Abandonment
    from storage.imports import UnfinishedImportRow

MAX_CHANNELS: Final = 20
"""Channels that are named."""


@click.command("abandon-import")
@click.option("--realm", "subdomain", help=WHICH_REALM)
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
def abandon_import(
    *, subdomain: str | None, yes: bool, config: Path | None, data: Path | None
) -> None:
    """End an import that cannot be continued, so that others can begin.

    The people, channels and messages that have come stay, and are named; the rest does not come. A
    process that is running the import stops. The import cannot be continued afterwards: its file
    would be imported anew, beside what is there.
    """
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        found = with_app(settings, lambda app: _unfinished(app, subdomain))
        click.echo(
            f"The import of {found.source} that began on {found.started_at:%Y-%m-%d} has not ended."
        )
        if not yes:
            click.confirm("Abandon it? It cannot be continued then", abort=True)
        ended, names = with_app(settings, lambda app: _abandon(app, subdomain, found.import_id))
    for line in _lines(ended, names):
        click.echo(line)


async def _unfinished(app: "App", subdomain: str | None) -> "UnfinishedImportRow":
    from scripts.cli.session import called, realm_named
    from storage import imports

    realm_id = await realm_named(app, subdomain)
    async with app.database.connection() as connection:
        row = await imports.unfinished(connection, realm_id)
    if row is None:
        raise Failure(f"{await called(app, realm_id)} has no import that has not ended.")
    return row


async def _abandon(
    app: "App", subdomain: str | None, import_id: int
) -> "tuple[Abandonment, list[str]]":
    """Abandon the import; return also the names of its channels."""
    from scripts.cli.session import realm_named
    from server.actions.stepped_work import finish
    from server.domain.errors import NotFoundError
    from server.imports.abandoning import ABANDONING, abandon
    from storage import channels

    services = app.realm_services(await realm_named(app, subdomain))
    now = app.clock.now()
    try:
        ended = await services.write(lambda tx: abandon(tx, import_id, now))
    except NotFoundError as error:
        raise Failure("The import has ended meanwhile.") from error
    await finish(services, ABANDONING, ended.work_id)
    async with services.read() as connection:
        rows = await channels.by_ids(connection, services.realm_id, list(ended.channel_ids))
    return ended, sorted(row.name for row in rows)


def _lines(ended: "Abandonment", names: list[str]) -> list[str]:
    from server.imports.abandoning import messages_of
    from server.imports.report import ImportReport

    lines = ImportReport.of(ended.row.report).without_examples().lines("Stays")
    if names:
        more = f" and {len(names) - MAX_CHANNELS:,} more" if len(names) > MAX_CHANNELS else ""
        lines.append(f"Channels: {', '.join(names[:MAX_CHANNELS])}{more}.")
    total = counted(ended.row.total, "message", "messages")
    lines.append(f"Abandoned after {messages_of(ended.row):,} of {total}.")
    return lines
