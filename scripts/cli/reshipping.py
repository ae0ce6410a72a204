"""`parley queues reship`: publish jobs again that were lost with the broker's data."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import NUMBER, WHICH_REALM, place_options, settings_beside
from server.runtime.formatting import counted

if TYPE_CHECKING:
    from queue_processors.reshipping import Reshipper
    from server.app import App
    from storage.database import Connection
    from storage.ids import Position, RealmId

MARGIN: Final = timedelta(minutes=10)
"""The safety margin before the requested time: clocks differ, and jobs are idempotent."""


@click.command()
@click.option(
    "--since", help="All that was written since this time (ISO 8601; UTC unless it says)."
)
@click.option("--from", "position", type=NUMBER, help="All from this position of the log on.")
@click.option("--queue", "queues", multiple=True, help="Only this queue; may be repeated.")
@click.option("--realm", help=f"{WHICH_REALM} Without it, --since is for all.")
@place_options
def reship(
    *,
    since: str | None,
    position: int | None,
    queues: tuple[str, ...],
    realm: str | None,
    config: Path | None,
    data: Path | None,
) -> None:
    """Publish jobs again that were lost with the broker's data.

    Jobs of all log entries since then are enqueued again. Processors skip finished jobs, so a range
    may be shipped any number of times.
    """
    if (since is None) is (position is None):
        raise Failure("Say from where on: --since TIME or --from POSITION, one of them.")
    moment = None if since is None else _moment(since)
    _refuse_unknown(queues)
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        with_app(settings, lambda app: _reship(app, realm, moment, position, queues))


async def _reship(
    app: "App",
    subdomain: str | None,
    moment: datetime | None,
    position: int | None,
    queues: tuple[str, ...],
) -> None:
    from queue_processors.reshipping import Reshipper

    starts = await _starts(app, subdomain, moment, position)
    reshipper = Reshipper(app.database, app.jobs, queues)
    total: dict[str, int] = {}
    for realm_id, after in starts:
        for queue, count in (await _of_realm(reshipper, realm_id, after)).items():
            total[queue] = total.get(queue, 0) + count
    for queue, count in sorted(total.items()):
        click.echo(f"{queue}: {counted(count, 'job', 'jobs')}")
    organizations = counted(len(starts), "organization", "organizations")
    jobs = counted(sum(total.values()), "job", "jobs")
    click.echo(f"Shipped {jobs} of {organizations} again.")


async def _of_realm(
    reshipper: "Reshipper", realm_id: "RealmId", after: "Position"
) -> Mapping[str, int]:
    def progress(position: "Position", jobs: int) -> None:
        reached = f"organization {realm_id}: position {position}"
        click.echo(f"{reached}, {counted(jobs, 'job', 'jobs')}", err=True)

    return await reshipper.ship(realm_id, after, progress)


async def _starts(
    app: "App", subdomain: str | None, moment: datetime | None, position: int | None
) -> "list[tuple[RealmId, Position]]":
    """Return the organizations, with the position after which each begins."""
    from scripts.cli.session import realm_named
    from storage import realms, reshipping

    if moment is None:
        assert position is not None
        realm_id = await realm_named(app, subdomain)
        async with app.database.connection() as connection:
            return [(realm_id, await _checked(connection, realm_id, position))]
    async with app.database.connection() as connection:
        await _refuse_forgotten(connection, app.clock.now(), moment)
        if subdomain is None:
            ids = [row.realm_id for row in await realms.all_of_them(connection)]
        else:
            ids = [await realm_named(app, subdomain)]
        found = [
            (each, await reshipping.last_before(connection, each, moment - MARGIN)) for each in ids
        ]
    return [(realm_id, after) for realm_id, after in found if after is not None]


async def _checked(connection: "Connection", realm_id: "RealmId", position: int) -> "Position":
    """Return the position before the first one. Raises Failure if the log has expired."""
    from storage import event_log
    from storage.ids import Position

    oldest = await event_log.oldest(connection, realm_id)
    if oldest is None:
        raise Failure("The organization's log is empty: there is nothing to ship.")
    if position < oldest:
        raise Failure(
            f"The organization's log is kept from position {oldest} on: what is older is gone,"
            f" --from {oldest} ships the rest."
        )
    return Position(position - 1)


async def _refuse_forgotten(connection: "Connection", now: datetime, moment: datetime) -> None:
    from storage import reshipping

    if moment > now:
        raise Failure(f"{moment.isoformat()} is still to come.")
    first = await reshipping.first_day(connection)
    if first is None or moment.astimezone(UTC).date() < first:
        raise Failure(
            f"The log is kept from {first} on: what is older is gone, --since {first} ships the"
            " rest."
        )


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise Failure(f"{text!r} is no time: write it like 2026-11-25T09:30Z.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _refuse_unknown(queues: tuple[str, ...]) -> None:
    from queue_processors.registry import queue_names

    names = queue_names()
    for queue in queues:
        if queue not in names:
            raise Failure(f"There is no queue {queue}. There are: {', '.join(names)}.")
