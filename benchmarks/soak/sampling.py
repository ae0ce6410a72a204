"""Samples of processes and relations during a long run."""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from statistics import median
from typing import Final

import psutil
import psycopg

from benchmarks.server import pss
from benchmarks.soak.commands import output
from benchmarks.soak.verdict import Relation, Sample
from testkit.faults.clients import Surroundings
from testkit.faults.nemesis import Nemesis

SAMPLE_SECONDS: Final = 60.0
SMALLEST_BYTES: Final = 1024 * 1024
"""Relations from this size on are looked at."""


class Sampler:
    """Samples all processes each minute, and relations and dead jobs at the end."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.samples: list[Sample] = []
        self.relations: list[Relation] = []
        self.dead: list[str] = []
        """Queues with dead jobs."""
        self._vacuums: list[tuple[str, int, int, int]] = []
        self._say = say

    async def run(self, _: Surroundings, nemesis: Nemesis) -> None:
        """Sample until cancelled, then look at what is there."""
        began = time.monotonic()
        try:
            while True:
                self._sample(nemesis, time.monotonic() - began)
                await asyncio.sleep(SAMPLE_SECONDS)
        finally:
            await self._look(nemesis)

    def lines(self) -> Iterator[str]:
        """The figures, for people."""
        by_process: dict[str, list[Sample]] = defaultdict(list)
        for each in self.samples:
            by_process[each.process].append(each)
        for process, samples in by_process.items():
            if len(samples) < 3:
                continue
            shown = ", ".join(
                f"{name} {_summary([each.figures[name] for each in samples])}"
                for name in samples[0].figures
            )
            yield f"{process}, {len(samples)} minutes (first, median, last): {shown}"
        for relation in self.relations:
            yield f"{relation.name}: {relation.mib:.1f} MiB, {relation.unused:.0%} unused"
        for name, live, dead, vacuums in self._vacuums:
            yield f"{name}: {live} rows, {dead} dead, vacuumed {vacuums} times"

    def _sample(self, nemesis: Nemesis, seconds: float) -> None:
        for kind, processes in (("server", nemesis.servers), ("worker", nemesis.workers)):
            for process in processes.running():
                figures = _figures(process.pid, nemesis.database_proxy.port)
                if figures:
                    self.samples.append(Sample(seconds, f"{kind} {process.pid}", figures))

    async def _look(self, nemesis: Nemesis) -> None:
        listed = await output(nemesis.servers.environment, "queues", "list", "--json")
        self.dead = [
            f"queue {queue['queue']}: {queue['dead']} dead jobs"
            for queue in json.loads(listed.text)
            if queue["dead"]
        ]
        for queue in [line.split(":")[0].removeprefix("queue ") for line in self.dead]:
            shown = await output(nemesis.servers.environment, "queues", "inspect", queue, "--dead")
            self._say(shown.text)
        self.relations, self._vacuums = await asyncio.to_thread(_look_at, nemesis.postgres.url())


def _summary(values: list[float]) -> str:
    return f"{values[0]:.0f} / {median(values):.0f} / {values[-1]:.0f}"


def _figures(pid: int, database_port: int) -> dict[str, float]:
    """Of the process, its memory with that of its children. Empty if it has just ended."""
    try:
        process = psutil.Process(pid)
        every = [process, *process.children(recursive=True)]
        links = [each for each in process.net_connections("tcp") if each.raddr]
        return {
            "MiB": sum(pss(each) for each in every) / 1024,
            "file descriptors": process.num_fds(),
            "threads": process.num_threads(),
            "Postgres connections": sum(each.raddr.port == database_port for each in links),
        }
    except psutil.Error:
        return {}


def _look_at(url: str) -> tuple[list[Relation], list[tuple[str, int, int, int]]]:
    """Return large relations with their unused space, and the tables with dead rows."""
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("CREATE EXTENSION IF NOT EXISTS pgstattuple")
        relations = [
            Relation(str(name), int(size) / 1024 / 1024, float(unused))
            for name, size, unused in database.execute(
                """
                SELECT c.relname, pg_relation_size(c.oid),
                       CASE WHEN c.relkind = 'r'
                            THEN (SELECT (dead_tuple_percent + free_percent) / 100
                                    FROM pgstattuple(c.oid))
                            ELSE 1 - (SELECT coalesce(nullif(avg_leaf_density, 'NaN'), 100) / 100
                                        FROM pgstatindex(c.oid)) END
                  FROM pg_class c
                  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
                  LEFT JOIN pg_am am ON am.oid = c.relam
                 WHERE (c.relkind = 'r' OR (c.relkind = 'i' AND am.amname = 'btree'))
                   AND pg_relation_size(c.oid) >= %s
                 ORDER BY 2 DESC
                """,
                [SMALLEST_BYTES],
            ).fetchall()
        ]
        vacuums: list[tuple[str, int, int, int]] = database.execute(
            "SELECT relname, n_live_tup, n_dead_tup, autovacuum_count"
            "  FROM pg_stat_user_tables WHERE n_live_tup + n_dead_tup > 1000"
            " ORDER BY n_dead_tup DESC LIMIT 15"
        ).fetchall()
    return relations, vacuums
