"""`parley export` and `parley import` of an organization with a long history, beside a server."""

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg

from benchmarks import world as worlds
from benchmarks.server import PARLEY, Server
from testkit.slack_exports import write_large_export

MESSAGES: Final = 1_000_000
SLACK_MESSAGES: Final = 200_000
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


def _run(*arguments: str) -> Taken:
    started = time.perf_counter()
    environment = {**os.environ, "PARLEY_ROOT_DOMAIN": "parley.test"}  # noqa: TID251
    with subprocess.Popen([str(PARLEY), *arguments], env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return Taken(time.perf_counter() - started, used.ru_maxrss / 1024)
