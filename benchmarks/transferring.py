"""`parley export` and `parley import` of an organization with a long history, beside a server."""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client, clients
from benchmarks.server import PARLEY, Server
from testkit.slack_exports import write_large_export

MESSAGES: Final = 1_000_000
SLACK_MESSAGES: Final = 200_000
IN_USE_MESSAGES: Final = 60_000
SENDERS, SENDS_A_SECOND = 4, 100
ALONE_SECONDS: Final = 20.0
HOURS: Final = 10_000.0
"""Longer than any import that is measured."""
PEOPLE, CHANNELS, TOPICS = 1_000, 100, 20
CONTENT: LiteralString = (
    "'message ' || g || ' for @**Person ' || g % 1000 || '|' || 100 + g % 1000 || '** of '"
    " || repeat('words ', 10)"
)


@dataclass(frozen=True, slots=True)
class Taken:
    """The cost of one command."""

    seconds: float
    mib: float
    """At most, of the command alone: Postgres has its own."""


def measure(server: Server, database: psycopg.Connection[Any]) -> dict[str, Taken]:
    """There and back: as another organization of the same server, in which all ids change."""
    world = worlds.fill(database, people=PEOPLE)
    channels = [worlds.channel(database, world, f"channel {n}", 100) for n in range(CHANNELS)]
    worlds.messages(
        database, world, channels, count=MESSAGES, topics_a_channel=TOPICS, content=CONTENT
    )
    _settle(database, world)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "world.export"
        return {
            "export": _run("export", str(file), "--data", str(server.data)),
            "import": _run("import", str(file), "--subdomain", "copy", "--data", str(server.data)),
        }


def _settle(database: psycopg.Connection[Any], world: worlds.World) -> None:
    """Reactions, flags, and what people have read."""
    for statement in (
        """
        INSERT INTO reactions
        SELECT realm_id, id, sender_id, 'unicode_emoji', '1f44d', '+1', id
          FROM messages WHERE realm_id = %(realm)s AND id %% 5 = 0
        """,
        """
        INSERT INTO message_flags
        SELECT realm_id, sender_id, id, 2 FROM messages WHERE realm_id = %(realm)s AND id %% 10 = 0
        """,
        """
        INSERT INTO conversation_read
        SELECT t.realm_id, s.user_id, t.topic_id, '{[1,1000),[2000,3000)}'
          FROM topics t JOIN subscriptions s USING (realm_id, channel_id)
         WHERE t.realm_id = %(realm)s
        """,
    ):
        database.execute(statement, {"realm": world.realm_id})


def import_of_slack(server: Server) -> Taken:
    """An export of Slack, made up, becomes an organization."""
    with tempfile.TemporaryDirectory() as folder:
        file = write_large_export(Path(folder) / "slack.zip", messages=SLACK_MESSAGES)
        return _run("import", str(file), "--realm", "moved", "--data", str(server.data))


@dataclass(frozen=True, slots=True)
class Beside:
    """Sends beside an import into their organization."""

    alone: list[float]
    """Seconds of sends before it."""
    beside: Mapping[str, list[float]]
    """The same during it, by what it did."""
    seconds: Mapping[str, float]
    """How long it did so."""


def import_into_use(server: Server, database: psycopg.Connection[Any]) -> Beside:
    """An export of Slack is added to an organization in which people go on sending."""
    world = worlds.fill(database, people=PEOPLE)
    database.execute(
        "UPDATE users SET role = 100 WHERE realm_id = %s AND user_id = %s",
        [world.realm_id, world.first_user_id],
    )
    channel_id = worlds.channel(database, world, "live", 1_000)
    uvloop.run(_send_until(server, world, channel_id, [], lambda: False, seconds=2.0))
    alone: list[tuple[float, float]] = []
    uvloop.run(_send_until(server, world, channel_id, alone, lambda: False, seconds=ALONE_SECONDS))
    taken: list[tuple[float, float]] = []
    phases: list[tuple[float, str]] = []

    with tempfile.TemporaryDirectory() as folder:
        file = write_large_export(Path(folder) / "slack.zip", messages=IN_USE_MESSAGES)
        arguments = ["import", str(file), "--into-existing", "--data", str(server.data)]
        with subprocess.Popen([str(PARLEY), *arguments]) as process:

            def goes_on() -> bool:
                row = database.execute("SELECT phase FROM imports").fetchone()
                phase = "survey" if row is None else str(row[0])
                if not phases or phases[-1][1] != phase:
                    phases.append((time.perf_counter(), phase))
                return process.poll() is None

            uvloop.run(_send_until(server, world, channel_id, taken, goes_on, seconds=HOURS))
        assert process.returncode == 0
    phases.append((time.perf_counter(), "end"))
    beside: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for (start, phase), (end, _) in pairwise(phases):
        beside[phase] = [each for moment, each in taken if start <= moment < end]
        seconds[phase] = end - start
    return Beside([each for _, each in alone], beside, seconds)


async def _send_until(
    server: Server,
    world: worlds.World,
    channel_id: int,
    taken: list[tuple[float, float]],
    goes_on: Callable[[], bool],
    *,
    seconds: float,
) -> None:
    """Send evenly, and note when each send began and how long it took."""
    started, is_over = time.perf_counter(), False

    async def send(client: Client) -> None:
        request = client.send_request(channel_id, "benchmark", "A message of an ordinary length.")
        while not is_over:
            moment = time.perf_counter()
            taken.append((moment, await client.timed(request)))
            await asyncio.sleep(SENDERS / SENDS_A_SECOND)

    sending = [asyncio.create_task(send(each)) for each in clients(server, world, SENDERS)]
    # What is looked at is another process.
    while time.perf_counter() - started < seconds and (seconds < HOURS or goes_on()):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    is_over = True
    await asyncio.gather(*sending)


def _run(*arguments: str) -> Taken:
    started = time.perf_counter()
    environment = {**os.environ, "PARLEY_ROOT_DOMAIN": "parley.test"}  # noqa: TID251
    with subprocess.Popen([str(PARLEY), *arguments], env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return Taken(time.perf_counter() - started, used.ru_maxrss / 1024)
