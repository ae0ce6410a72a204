"""`parley status`: what runs, and how it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import sentences
from scripts.cli.options import read_settings, server_options

if TYPE_CHECKING:
    from server.settings import Settings
    from storage.health import Contents
    from storage.jobs import QueueStats

ANSWER_SECONDS = 5

Line = tuple[str, str]


@click.command()
@server_options
@click.pass_context
def status(context: click.Context, /, *, config: Path | None, **overrides: object) -> None:
    """Show what runs, and how it is.

    The server, its database, what waits in the queues.

    The status is 1 if the server does not answer.
    """
    with sentences():
        settings = read_settings(config, **overrides)
        answers, about_server = _server(settings)
        lines = [("server", about_server), *_database(settings)]
    for name, text in lines:
        click.echo(f"{name:<10} {text}")
    if not answers:
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


def _database(settings: "Settings") -> Iterator[Line]:
    from storage.embedded import running_url
    from storage.health import facts
    from storage.migrate import connected, pending

    url = settings.database_url or running_url(settings.data_directory)
    if url is None:
        yield "database", f"the private Postgres in {settings.data_directory} is not running"
        return
    lacking = pending(url)
    with connected(url) as connection:
        found = facts(connection)
    yield (
        "database",
        (
            f"Postgres {found.version}, {found.size_bytes / 1024**2:,.0f} MB,"
            f" {found.connections} of {found.max_connections} connections"
        ),
    )
    if lacking:
        yield "", f"lacks {len(lacking)} migrations: run `parley migrate`"
        return
    yield from _contents(url)


def _contents(url: str) -> Iterator[Line]:
    import asyncio

    found, queues = asyncio.run(_read(url))
    people = f"{found.realms} organizations, {found.users} people"
    yield "contents", f"{people}, {found.messages:,} messages, {found.event_queues} event queues"
    for queue in queues:
        work = f"{queue.waiting} wait, {queue.in_hand} in hand, {queue.dead} dead"
        yield "queue", f"{queue.queue}: {work}, the oldest since {queue.oldest_seconds:.0f} s"


async def _read(url: str) -> tuple["Contents", list["QueueStats"]]:
    from storage.database import open_database
    from storage.health import contents
    from storage.jobs import stats

    async with (
        open_database(url, min_size=1, max_size=1) as database,
        database.connection() as connection,
    ):
        return await contents(connection), await stats(connection)
