"""`parley top`: a live view of the installation."""

import asyncio
import itertools
import math
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import place_options, settings_beside
from scripts.cli.signals import interrupted_once
from scripts.cli.tables import Cell, lines_of
from server.runtime.formatting import counted, size

if TYPE_CHECKING:
    from server.settings import Settings
    from server.telemetry.load import Load, LoadMeter
    from server.telemetry.overview import Overview, ProcessView

ROWS = 8
"""Maximum of each part but the processes and queues; the rest is counted."""
STATEMENT_CHARACTERS = 200
PATIENCE_SECONDS = 5
OTHER_SCREEN, OWN_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""The terminal's alternate screen without a cursor, and back: what was there before stays."""
TOP_LEFT, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


def _checked_interval(_context: click.Context, _option: click.Parameter, seconds: float) -> float:
    """Refuse what is no number, which is in any range."""
    if math.isnan(seconds):
        raise click.BadParameter("it is not a number.")
    return seconds


@click.command()
@click.option(
    "--interval",
    type=click.FloatRange(min=0.5, max=60),
    callback=_checked_interval,
    default=2.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Print one view after one interval, and exit.")
@place_options
def top(*, interval: float, once: bool, config: Path | None, data: Path | None) -> None:
    """Watch processes, queues, organizations and statements, until Ctrl-C.

    Where Postgres has the extension pg_stat_statements, also which statements took the most time
    in all. Without a terminal, one view is printed.
    """
    with sentences():
        is_live = sys.stdout.isatty() and not once
        settings = _settings(config, data)
        with suppress(KeyboardInterrupt), interrupted_once():
            asyncio.run(_watch(settings, interval, is_live=is_live))


def _settings(config: Path | None, data: Path | None) -> "Settings":
    from scripts.cli.database import with_database
    from storage.embedded import running_url

    settings = settings_beside(config, data)
    url = settings.database_url or running_url(settings.data_directory)
    if url is None:
        raise Failure(
            f"The private Postgres in {settings.data_directory} is not running:"
            " start it with `parley run`, or name another directory by --data."
        )
    return with_database(settings, url)


async def _watch(settings: "Settings", interval_seconds: float, *, is_live: bool) -> None:
    from queue_processors.registry import queue_names
    from scripts.cli.queues import open_desk
    from server.telemetry.load import LoadMeter
    from server.telemetry.overview import look

    async with open_desk(settings) as (desk, database):
        meter = LoadMeter(database)
        with _other_screen(is_wanted=is_live):
            for number in itertools.count():
                found = await look(database, desk, queue_names(), patience_seconds=PATIENCE_SECONDS)
                load = None if found.contents is None else await _sample(meter, found)
                if is_live:
                    click.echo(_screen(_lines(found, load)), nl=False)
                elif number:  # rates need two looks
                    click.echo("\n".join(_lines(found, load)))
                    return
                await asyncio.sleep(interval_seconds)


@contextmanager
def _other_screen(*, is_wanted: bool) -> Iterator[None]:
    if not is_wanted:
        yield
        return
    click.echo(OTHER_SCREEN, nl=False)
    try:
        yield
    finally:
        click.echo(OWN_SCREEN, nl=False)


async def _sample(meter: "LoadMeter", found: "Overview") -> "Load | None":
    """Return the load; None while the database is away, which `found` says already."""
    from server.telemetry.overview import AWAY

    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await meter.sample(found)
    except AWAY:
        return None


def _screen(lines: Iterable[str]) -> str:
    """Return what draws the lines over the last view, as many as fit."""
    width, height = shutil.get_terminal_size()
    shown = [line[:width] + REST_OF_LINE for line in lines][: height - 1]
    return TOP_LEFT + "\r\n".join(shown) + REST_OF_SCREEN


def _lines(found: "Overview", load: "Load | None") -> Iterator[str]:
    yield " - ".join(_summary(found))
    for problem in found.problems:
        yield f"problem: {problem}"
    yield from _part("PROCESSES", [_process(each) for each in found.processes])
    yield from _part("QUEUES", _queues(found, load))
    if load is None:
        return
    realms: list[Mapping[str, Cell]] = [
        {
            "organization": each.name,
            "events a second": f"{each.events_per_second:.1f}",
            "event queues": each.event_queues,
        }
        for each in load.realms
    ]
    yield from _part("ORGANIZATIONS", realms, limit=ROWS)
    running: list[Mapping[str, Cell]] = [
        {
            "runs for": f"{each.seconds * 1000:,.0f} ms",
            "connection": each.connection,
            "waits for": each.waits_for or None,
            "statement": _one_line(each.statement),
        }
        for each in load.running
    ]
    yield from _part("STATEMENTS NOW", running, limit=ROWS)
    if load.slowest is None:
        return
    slowest: list[Mapping[str, Cell]] = [
        {
            "total_seconds": each.total_seconds,
            "calls": each.calls,
            "mean ms": f"{each.mean_ms:.2f}",
            "statement": _one_line(each.statement),
        }
        for each in load.slowest
    ]
    yield from _part("STATEMENTS WITH THE MOST TIME IN ALL", slowest, limit=ROWS)


def _summary(found: "Overview") -> Iterator[str]:
    yield f"Parley {found.version}"
    yield time.strftime("%H:%M:%S")
    if found.database is not None:
        facts = found.database
        yield (
            f"Postgres {facts.version}, {size(facts.size_bytes)},"
            f" {facts.connections} of {facts.max_connections} connections"
        )
    for shard in found.shards:
        if shard.leader is not None and shard.lag_seconds is not None:
            yield f"shipper {shard.lag_seconds:.1f} s behind the log"


def _part(
    title: str, rows: Sequence[Mapping[str, Cell]], *, limit: int | None = None
) -> Iterator[str]:
    if not rows:
        return
    shown = rows[:limit]
    yield ""
    yield title
    yield from lines_of(shown)
    if hidden := len(rows) - len(shown):
        yield f"and {counted(hidden, 'more', 'more')}"


def _process(process: "ProcessView") -> Mapping[str, Cell]:
    state = process.state
    in_use = state.get("database_connections_size", 0) - state.get("database_connections_free", 0)
    return {
        "process": f"{process.host}, {process.pid}",
        "does": process.does,
        "last sign_seconds": process.seen_seconds,
        "event queues": f"{state.get('event_queues', 0):.0f}" if process.serves else None,
        "polls waiting": f"{state.get('polls_waiting', 0):.0f}" if process.serves else None,
        "log lag_seconds": state.get("log_lag_seconds") if process.serves else None,
        "longest block in a minute": f"{state.get('loop_blocked_seconds', 0) * 1000:.0f} ms",
        "pool": f"{in_use:.0f} of {state.get('database_connections_size', 0):.0f}",
    }


def _queues(found: "Overview", load: "Load | None") -> list[Mapping[str, Cell]]:
    """Return the queues in which something waits, is in hand, happens or is wrong."""
    rates = {} if load is None else load.attempts_per_second
    return [
        {
            "queue": each.queue,
            "jobs a second": f"{rates.get(each.queue, 0):.1f}",
            "waiting": each.waiting,
            "in hand": each.in_hand,
            "oldest_seconds": each.oldest_seconds,
            "dead": each.dead,
            "workers": each.workers,
            "paused": each.paused,
        }
        for each in found.queues
        if each.waiting or each.in_hand or each.dead or each.paused or rates.get(each.queue)
    ]


def _one_line(statement: str) -> str:
    return " ".join(statement.split())[:STATEMENT_CHARACTERS]
