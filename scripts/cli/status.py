"""`parley status`: what runs, and how it is."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scripts.cli.failures import sentences
from scripts.cli.options import read_settings, server_options
from scripts.cli.running import as_it_runs
from scripts.cli.tables import counted, span

if TYPE_CHECKING:
    from server.settings import Settings
    from storage.workers import WorkerRow

ANSWER_SECONDS = 5

Line = tuple[str, str]


@dataclass(slots=True)
class Status:
    """What was found out. None where it could not be."""

    version: str
    server_answers: bool = False
    server: str = ""
    database: dict[str, Any] | None = None
    lacking_migrations: list[str] = field(default_factory=list)
    contents: dict[str, int] | None = None
    ship_lag_seconds: float | None = None
    workers: list[dict[str, Any]] = field(default_factory=list)
    queues: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@server_options
@click.pass_context
def status(
    context: click.Context, /, *, as_json: bool, config: Path | None, **overrides: object
) -> None:
    """Show what runs, and how it is.

    The server, its database, who works and who leads, what waits in the queues.

    The status is 1 if the server does not answer.
    """
    with sentences():
        from server.version import VERSION

        place = {name: overrides.get(name) for name in ("host", "port")}
        settings = as_it_runs(read_settings(config, **overrides), **place)
        found = Status(version=VERSION)
        found.server_answers, found.server = _server(settings)
        _look_at_database(settings, found)
    if as_json:
        click.echo(json.dumps(asdict(found), default=str, indent=2))
    else:
        for name, text in _lines(found):
            click.echo(f"{name:<10} {text}")
    if not found.server_answers:
        context.exit(1)


def _server(settings: "Settings") -> tuple[bool, str]:
    import http.client

    host = "127.0.0.1" if settings.host in {"0.0.0.0", "::"} else settings.host  # noqa: S104 - compared, not bound
    connection = http.client.HTTPConnection(host, settings.port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/api/v1/server_settings")
        answered = connection.getresponse().status
    except OSError as error:
        reason = error.strerror or "no answer"
        return False, f"does not answer on {host}, port {settings.port} ({reason})"
    finally:
        connection.close()
    return True, f"answers on {host}, port {settings.port} (status {answered})"


def _look_at_database(settings: "Settings", found: Status) -> None:
    import asyncio

    from scripts.cli.database import with_database
    from storage.embedded import running_url
    from storage.health import facts
    from storage.migrate import connected, pending

    url = settings.database_url or running_url(settings.data_directory)
    if url is None:
        found.problem = f"the private Postgres in {settings.data_directory} is not running"
        return
    found.lacking_migrations = list(pending(url))
    with connected(url) as connection:
        found.database = asdict(facts(connection))
    if not found.lacking_migrations:
        asyncio.run(_read(with_database(settings, url), found))


async def _read(settings: "Settings", found: Status) -> None:
    from scripts.cli.queues import open_desk, overview
    from server.messaging.job_broker import BrokerUnavailableError
    from storage import workers
    from storage.health import contents

    async with open_desk(settings) as (desk, database):
        async with database.connection() as connection:
            found.contents = asdict(await contents(connection))
            at_work = await workers.at_work(connection)
            found.ship_lag_seconds = await workers.ship_lag(connection)
        found.workers = [_worker(row) for row in at_work]
        try:
            found.queues = [dict(row) for row in await overview(desk, database)]
        except BrokerUnavailableError as lost:
            found.problem = f"the broker does not answer: {lost}"


def _worker(row: "WorkerRow") -> dict[str, Any]:
    return {
        "host": row.host,
        "pid": row.pid,
        "version": row.version,
        "started_at": row.started_at.isoformat(),
        "leads": row.ship_lag_seconds is not None,
        "queues": sorted(row.queues),
    }


def _lines(found: Status) -> Iterator[Line]:
    yield "version", found.version
    yield "server", found.server
    if found.database is not None:
        facts = found.database
        yield (
            "database",
            (
                f"Postgres {facts['version']}, {facts['size_bytes'] / 1024**2:,.0f} MB,"
                f" {facts['connections']} of {facts['max_connections']} connections"
            ),
        )
    if found.lacking_migrations:
        lacking = counted(len(found.lacking_migrations), "migration", "migrations")
        yield "", f"lacks {lacking}: run `parley migrate`"
    if found.contents is not None:
        words = {
            "realms": ("organization", "organizations"),
            "users": ("person", "people"),
            "messages": ("message", "messages"),
            "event_queues": ("event queue", "event queues"),
        }
        held = found.contents
        yield "contents", ", ".join(counted(held[name], *pair) for name, pair in words.items())
        yield from _work_lines(found)
    if found.problem:
        yield "" if found.database else "database", found.problem


def _work_lines(found: Status) -> Iterator[Line]:
    lag = found.ship_lag_seconds
    yield "shipper", "nobody ships" if lag is None else f"leads, {lag:.1f} s behind the log"
    for one in found.workers:
        leads = ", leads the shipper" if one["leads"] else ""
        queues = ", ".join(one["queues"])
        yield "worker", f"{one['host']}, process {one['pid']}, {one['version']}: {queues}{leads}"
    for queue in found.queues:
        work = f"{queue['waiting']} wait, {queue['in_hand']} in hand, {queue['dead']} dead"
        oldest = span(queue["oldest_seconds"])
        paused = ", paused" if queue["paused"] else ""
        yield "queue", f"{queue['queue']}: {work}, the oldest since {oldest}{paused}"
