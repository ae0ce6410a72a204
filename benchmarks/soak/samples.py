"""Measure processes, connections, tables, indexes and queues."""

import asyncio
import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.soak.verdict import DeadRows, Relation, Series

COMMAND_SECONDS = 60.0

RELATIONS = """
    SELECT coalesce(t.relname || ' (toast)', c.relname), c.relkind,
           CASE c.relkind WHEN 'i' THEN i.indrelid::regclass::text
                          ELSE coalesce(t.relname, c.relname) END,
           pg_relation_size(c.oid)
      FROM pg_class c
      LEFT JOIN pg_class t ON t.reltoastrelid = c.oid
      LEFT JOIN pg_index i ON i.indexrelid = c.oid
     WHERE (c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i', 'm'))
        OR (t.relnamespace = 'public'::regnamespace)"""

TABLES = """
    SELECT s.relname, n_live_tup, n_dead_tup, last_autovacuum::text, autovacuum_count,
           coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold')::float)
             + coalesce(o.factor, current_setting('autovacuum_vacuum_scale_factor')::float)
             * greatest(c.reltuples, 0)
      FROM pg_stat_user_tables s
      JOIN pg_class c ON c.oid = s.relid
     CROSS JOIN LATERAL (
        SELECT max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_threshold')::float
                   AS threshold,
               max(option_value)
                   FILTER (WHERE option_name = 'autovacuum_vacuum_scale_factor')::float AS factor
          FROM pg_options_to_table(c.reloptions)) o
     WHERE s.schemaname = 'public'"""

ACTIVITY = """
    SELECT coalesce(nullif(application_name, ''), '(none)'), count(*),
           coalesce(max(extract(epoch FROM now() - xact_start)), 0)::float
      FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
     GROUP BY 1"""


@dataclass
class Samples:
    """Everything measured so far, by what it is of."""

    series: dict[str, Series] = field(default_factory=dict)
    tables: dict[str, list[DeadRows]] = field(default_factory=lambda: defaultdict(list))
    most_rows: Counter[str] = field(default_factory=Counter)
    vacuums: Counter[str] = field(default_factory=Counter)
    """Autovacuums by table. A crash of Postgres resets its own counts."""
    longest_transaction: tuple[float, str] = (0.0, "")
    missed: int = 0
    """Samples that a fault prevented."""
    _vacuumed: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, kind: str, minute: float, value: float) -> None:
        self.series.setdefault(name, Series(name, kind)).add(minute, value)

    def note_table(self, row: tuple[Any, ...]) -> None:
        name, live, dead, vacuumed, _, trigger = row
        self.tables[name].append(DeadRows(dead, trigger, vacuumed))
        self.most_rows[name] = max(self.most_rows[name], live)
        if vacuumed is not None and self._vacuumed.get(name) != vacuumed:
            self._vacuumed[name] = vacuumed
            self.vacuums[name] += 1


def of_processes(
    samples: Samples, minute: float, groups: Mapping[str, Sequence[int]], amqp_port: int
) -> dict[str, Any]:
    """Sample the memory of each process, and what a group of them has open in all.

    Clients move from process to process with each fault, and their connections with them.
    """
    shown: dict[str, Any] = {}
    channels = 0
    for group, pids in groups.items():
        open_files = running_threads = 0
        for pid in pids:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                process = psutil.Process(pid)
                memory = process.memory_full_info()
                descriptors, threads = process.num_fds(), process.num_threads()
                channels += sum(
                    bool(each.raddr) and each.raddr.port == amqp_port
                    for each in process.net_connections("tcp")
                )
                name = f"{group} {pid}"
                samples.note(f"{name} memory", "memory", minute, memory.pss)
                open_files += descriptors
                running_threads += threads
                shown[name] = {"pss": memory.pss, "fds": descriptors, "threads": threads}
        samples.note(f"{group}s: descriptors", "count", minute, open_files)
        samples.note(f"{group}s: threads", "count", minute, running_threads)
    samples.note("connections to RabbitMQ", "count", minute, channels)
    return {"processes": shown, "amqp": channels}


def of_database(samples: Samples, minute: float, url: str) -> dict[str, Any]:
    """Sample connections, tables and indexes. Raises psycopg.OperationalError."""
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as database:
        activity = database.execute(ACTIVITY).fetchall()
        tables = database.execute(TABLES).fetchall()
        relations = database.execute(RELATIONS).fetchall()
    for name, count, age in activity:
        samples.note(f"connections to Postgres of {name}", "count", minute, count)
        samples.longest_transaction = max(samples.longest_transaction, (age, name))
    for row in tables:
        samples.note_table(row)
    return {
        "connections": {name: count for name, count, _ in activity},
        "tables": {row[0]: row[1:] for row in tables if row[1] or row[2]},
        "bytes": {name: size for name, _, _, size in relations if size > 65_536},
    }


def rebuilt(samples: Samples, url: str) -> list[Relation]:
    """Build all tables and indexes anew, and compare their sizes."""
    with psycopg.connect(url, autocommit=True) as database:
        before: dict[str, int] = {r[0]: r[3] for r in database.execute(RELATIONS).fetchall()}
        database.execute("VACUUM (FULL, ANALYZE)")
        after = database.execute(RELATIONS).fetchall()
        counted = database.execute("SELECT relname, greatest(reltuples, 0)::bigint FROM pg_class")
        rows: dict[str, int] = dict(counted.fetchall())
    return [
        Relation(name, before.get(name) or size, size, rows.get(table, 0), samples.most_rows[table])
        for name, _, table, size in after
    ]


async def command(environment: Mapping[str, str], parley: str, *arguments: str) -> tuple[int, str]:
    """Run a command of Parley; its exit status, and what it prints."""
    process = await asyncio.create_subprocess_exec(
        parley,
        *arguments,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        return 1, f"{arguments[0]}: no end within {COMMAND_SECONDS:.0f} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode(errors="replace")


async def of_queues(environment: Mapping[str, str], parley: str) -> list[dict[str, Any]] | None:
    """The queues as an operator sees them; None while the broker or the database is away."""
    status, output = await command(environment, parley, "queues", "list", "--json")
    if status:
        return None
    found: list[dict[str, Any]] = json.loads(output)
    return found


async def dead_letters(
    environment: Mapping[str, str], parley: str, queues: Sequence[Mapping[str, Any]]
) -> Counter[tuple[str, str]]:
    """How many dead letters there are, by queue and reason."""
    found: Counter[tuple[str, str]] = Counter()
    for queue in (each["queue"] for each in queues if each["dead"]):
        status, output = await command(
            environment,
            parley,
            *("queues", "inspect", queue, "--dead", "--json", "--limit", "1000"),
        )
        rows = [{"reason": f"cannot be shown: {output}"}] if status else json.loads(output)
        found.update((queue, row["reason"]) for row in rows)
    return found


def logged(path: Path, counts: Counter[str], offset: int) -> int:
    """Count what is new in a log, by level, event and error; where it ends now."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(offset)
        text = file.read(size - offset)
    end = text.rfind(b"\n") + 1
    for line in text[:end].splitlines():
        try:
            entry = json.loads(line)
            error = entry.get("error") or str(entry.get("exception", "")).strip()
            last = str(error).strip().splitlines()[-1:] or [""]
            counts[f"{entry['level']} {entry['event']} {last[0][:160]}".strip()] += 1
        except (ValueError, KeyError, AttributeError, TypeError):
            counts[f"not JSON: {line[:160].decode(errors='replace')}"] += 1
    return offset + end
