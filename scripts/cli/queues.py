"""`parley queues`: inspect and operate the job queues."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import limit_option, place_options, settings_beside
from scripts.cli.reshipping import reship
from scripts.cli.tables import Cell, show
from server.runtime.formatting import counted

if TYPE_CHECKING:
    from server.messaging.job_desk import JobDesk, ScheduledJobs
    from server.settings import Settings
    from storage.database import Database
    from storage.jobs import DeadJobRow, WaitingJobRow

Answer = TypeVar("Answer")

BODY_CHARACTERS = 200

_as_json = click.option("--json", "as_json", is_flag=True, help="For programs.")
_limit = limit_option(20)
_queue = click.argument("queue")
_which = click.argument("ids", nargs=-1)
_all = click.option("--all", "everything", is_flag=True, help="All of them.")


@click.group()
def queues() -> None:
    """Inspect and pause job queues, and replay or drop dead jobs."""


@queues.command("list")
@_as_json
@place_options
def list_queues(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List all queues.

    With jobs waiting, jobs in progress, the maximum age of the oldest, and dead jobs.
    """
    rows = _with_desk(config, data, overview)
    show(rows, as_json=as_json, nothing="There are no queues.")


@queues.command()
@_queue
@click.option("--dead", "is_dead", is_flag=True, help="Those that died, with what they died of.")
@click.option("--trace", is_flag=True, help="With the whole trace of each.")
@_limit
@_as_json
@place_options
def inspect(
    queue: str,
    *,
    is_dead: bool,
    trace: bool,
    limit: int,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Show waiting or dead jobs of QUEUE."""
    if not is_dead:
        waiting, later = _with_desk(config, data, lambda desk, _: _look(desk, queue, limit=limit))
        nothing = "Nothing waits to be handed out now." if later.jobs else "Nothing waits."
        show([_waiting(row) for row in waiting], as_json=as_json, nothing=nothing)
        if later.jobs and not as_json:
            click.echo(_told(queue, later))
        return
    dead = _with_desk(config, data, lambda desk, _: desk.dead(_known(queue), limit=limit))
    if as_json:
        show([{**_dead(row), "trace": row.trace} for row in dead], as_json=True, nothing="")
        return
    show([_dead(row) for row in dead], as_json=False, nothing="Nothing has died.")
    for row in dead if trace else ():
        click.echo(f"\n{row.id}  {row.key}\n{row.trace or row.reason}")


@queues.command()
@_queue
@place_options
def pause(queue: str, *, config: Path | None, data: Path | None) -> None:
    """Pause QUEUE; jobs in progress are finished."""
    from storage import workers

    async def stop(_: "JobDesk", database: "Database") -> None:
        async with database.connection() as connection:
            await workers.pause(connection, _known(queue))

    _with_desk(config, data, stop)
    click.echo(f"{queue} is paused: workers stop within seconds. Jobs are kept.")


@queues.command()
@_queue
@place_options
def resume(queue: str, *, config: Path | None, data: Path | None) -> None:
    """Resume QUEUE."""
    from storage import workers

    async def go_on(_: "JobDesk", database: "Database") -> bool:
        async with database.connection() as connection:
            return await workers.resume(connection, _known(queue))

    resumed = _with_desk(config, data, go_on)
    click.echo(f"{queue} goes on." if resumed else f"{queue} was not paused.")


@queues.command()
@_queue
@place_options
def retry(queue: str, *, config: Path | None, data: Path | None) -> None:
    """Retry now all jobs of QUEUE that wait for their next attempt."""
    count = _with_desk(config, data, lambda desk, _: desk.retry(_known(queue)))
    click.echo(f"{counted(count, 'job', 'jobs')} of {queue} may be tried again now.")


@queues.command()
@_queue
@_which
@_all
@place_options
def replay(
    queue: str, ids: tuple[str, ...], *, everything: bool, config: Path | None, data: Path | None
) -> None:
    """Enqueue dead jobs of QUEUE again: those with these IDS, or --all."""
    chosen = _chosen(ids, everything=everything)
    count = _with_desk(config, data, lambda desk, _: desk.replay(_known(queue), chosen))
    click.echo(f"{counted(count, 'job', 'jobs')} went back into {queue}.")


@queues.command()
@_queue
@_which
@_all
@place_options
def drop(
    queue: str, ids: tuple[str, ...], *, everything: bool, config: Path | None, data: Path | None
) -> None:
    """Delete dead jobs of QUEUE: those with these IDS, or --all."""
    chosen = _chosen(ids, everything=everything)
    count = _with_desk(config, data, lambda desk, _: desk.drop(_known(queue), chosen))
    click.echo(f"{counted(count, 'job', 'jobs')} of {queue} forgotten.")


queues.add_command(reship)


async def overview(desk: "JobDesk", database: "Database") -> list[dict[str, Cell]]:
    """Return a row for each queue."""
    from msgspec.structs import asdict

    from queue_processors.registry import queue_names
    from server.telemetry.overview import queue_views

    return [asdict(view) for view in await queue_views(database, desk, queue_names())]


def _known(queue: str) -> str:
    from queue_processors.registry import queue_names

    if queue not in queue_names():
        raise Failure(f"There is no queue {queue}. There are: {', '.join(queue_names())}.")
    return queue


def _chosen(ids: tuple[str, ...], *, everything: bool) -> tuple[str, ...] | None:
    if everything is bool(ids):
        raise Failure(
            "Say which: the ids that `parley queues inspect QUEUE --dead` shows, or --all."
        )
    return ids or None


async def _look(
    desk: "JobDesk", queue: str, *, limit: int
) -> "tuple[list[WaitingJobRow], ScheduledJobs]":
    waiting = await desk.waiting(_known(queue), limit=limit)
    return waiting, await desk.later(queue)


def _told(queue: str, later: "ScheduledJobs") -> str:
    whose = "all queues together" if later.is_of_all_queues else queue
    verb = "waits" if later.jobs == 1 else "wait"
    return (
        f"{counted(later.jobs, 'job', 'jobs')} of {whose} {verb} for a later time:"
        f" `parley queues retry {queue}` hands those of {queue} out now."
    )


def _waiting(row: "WaitingJobRow") -> dict[str, Cell]:
    return {
        "id": row.id,
        "key": row.key,
        "realm": row.realm_id,
        "since": row.enqueued_at,
        "attempts": row.attempts,
        "body": _body(row.body),
    }


def _dead(row: "DeadJobRow") -> dict[str, Cell]:
    return {
        "id": row.id,
        "key": row.key,
        "realm": row.realm_id,
        "died": row.died_at,
        "attempts": row.attempts,
        "reason": row.reason,
        "body": _body(row.body),
    }


def _body(body: bytes) -> str:
    text = body.decode(errors="replace")
    return text if len(text) <= BODY_CHARACTERS else text[:BODY_CHARACTERS] + "…"


def _with_desk(
    config: Path | None,
    data: Path | None,
    work: "Callable[[JobDesk, Database], Awaitable[Answer]]",
) -> Answer:
    """Run work with the queue operations of the configured broker."""
    import asyncio

    from scripts.cli.database import database_of

    async def at_desk(settings: "Settings") -> Answer:
        async with open_desk(settings) as (desk, database):
            return await work(desk, database)

    with sentences(), database_of(settings_beside(config, data)) as settings:
        return asyncio.run(at_desk(settings))


@asynccontextmanager
async def open_desk(settings: "Settings") -> "AsyncIterator[tuple[JobDesk, Database]]":
    """Open the queue operations of the configured broker."""
    from server.messaging.postgres_desk import PostgresJobDesk
    from storage.database import open_database

    assert settings.database_url is not None
    async with open_database(settings.database_url, min_size=1, max_size=2) as database:
        if settings.amqp_url is None:
            yield PostgresJobDesk(database), database
        else:
            from server.messaging.rabbitmq_desk import RabbitJobDesk

            yield RabbitJobDesk(settings.amqp_url, database), database
