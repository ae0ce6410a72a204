"""A process opens no more connections than the documentation says, and names each."""

import asyncio
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from storage import workers
from storage.database import Database
from testkit import fork_server
from testkit.clients.raw_sockets import until

PATIENCE_SECONDS = 60
ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `parley (\w+)` \|[^|]*\| (\d+) and the pool \| (\d+) \|$", re.MULTILINE)


def budgets() -> dict[str, tuple[int, int]]:
    """Connections to Postgres outside of the pool, and to RabbitMQ, by command."""
    page = (ROOT / "docs/operations.md").read_text()
    return {name: (int(direct), int(amqp)) for name, direct, amqp in ROW.findall(page)}


@contextmanager
def process(command: str, **environment: str) -> Iterator[int]:
    started = fork_server.Popen(
        (sys.executable, "-m", "scripts.cli.main", command),
        env={"PATH": os.defpath, **environment},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield started.pid
    finally:
        started.kill()
        started.wait()


def amqp_connections(pid: int, port: int) -> int:
    found = psutil.Process(pid).net_connections("tcp")
    return sum(each.raddr != () and each.raddr.port == port for each in found)


@pytest.mark.asyncio
async def test_processes_stay_within_their_budgets(
    database: Database, database_url: str, amqp_url: str, tmp_path: Path
):
    port = urlsplit(amqp_url).port or 5672
    settings = {"DATABASE_URL": database_url, "AMQP_URL": amqp_url}
    settings |= {"PARLEY_PORT": "0", "PARLEY_DATA": str(tmp_path)}
    with process("worker", **settings) as worker, process("serve", **settings) as server:
        expected = budgets()
        names: Counter[str] = Counter()
        async with asyncio.timeout(PATIENCE_SECONDS), database.connection() as connection:
            while len(await workers.at_work(connection)) < 2:
                pass
            await until(lambda: amqp_connections(worker, port) >= len({"events", "consume jobs"}))
            await until(lambda: amqp_connections(server, port))
            rows = await connection.values(
                "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
            )
            names.update(row for row in rows if row.startswith("parley-"))
        for command, pid in (("worker", worker), ("serve", server)):
            direct, amqp = expected[command]
            own = {
                name: count
                for name, count in names.items()
                if name.startswith(f"parley-{command}: ")
            }
            pool = own.pop(f"parley-{command}: pool")
            assert pool <= 8
            assert sum(own.values()) == direct, own
            assert amqp_connections(pid, port) <= amqp
