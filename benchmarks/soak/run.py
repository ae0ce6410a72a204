"""Run a soak: start everything, let clients live and faults happen, sample, and judge."""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import uvloop

from benchmarks.soak import samples as measuring
from benchmarks.soak.activities import Activities, add_bot
from benchmarks.soak.imports import Imports
from benchmarks.soak.samples import Samples
from benchmarks.soak.verdict import MIB, Relation, growing, oversized, shown, unvacuumed
from testkit.faults import world as worlds
from testkit.faults.clients import Habits, Mover, Poller, Sender, Surroundings
from testkit.faults.nemesis import Nemesis
from testkit.faults.plan import Plan, Report
from testkit.faults.run import HABITS, begin, together, until_done

PARLEY = str(Path(sys.executable).with_name("parley"))
"""Not `python -m`: processes that are forked from another one share its memory, and unshare it."""
USERS = 30
POLLERS = 40
SENDERS = 24
THINK_SECONDS = 8.0
IMPORT_SECONDS = 120.0
SAMPLE_SECONDS = 60.0
DRAIN_SECONDS = 90.0
OLDEST_TRANSACTION_SECONDS = 120.0
SHOWN = 15
LATER = "later"
"""Delayed jobs of all queues together, as `parley queues list` calls them."""


@dataclass(frozen=True, slots=True)
class Options:
    """The parameters of a soak."""

    minutes: float
    rate: float
    fault_seconds: float
    warm_up_minutes: float
    seed: int
    samples: Path | None
    log: Path | None


@dataclass(eq=False)
class Soak:
    """A soak under way."""

    options: Options
    around: Surroundings
    nemesis: Nemesis
    activities: Activities
    imports: Imports
    say: Callable[[str], None]
    samples: Samples = field(default_factory=Samples)
    queues: list[dict[str, Any]] = field(default_factory=list)
    """The queues as they were last seen."""
    log: Counter[str] = field(default_factory=Counter)
    """Entries of the logs, by level, event and error."""
    started: float = field(default_factory=time.monotonic)
    _read: dict[Path, int] = field(default_factory=Counter)

    @property
    def minute(self) -> float:
        return (time.monotonic() - self.started) / 60

    async def watch(self) -> None:
        """Sample once a minute until cancelled."""
        while True:
            begun = time.monotonic()
            await self.sample()
            await asyncio.sleep(max(SAMPLE_SECONDS - (time.monotonic() - begun), 1.0))

    async def sample(self) -> None:
        """Take a sample of everything, and print a line about it."""
        nemesis, minute = self.nemesis, self.minute
        groups = {
            "server": [process.pid for process in nemesis.servers.running()],
            "worker": [process.pid for process in nemesis.workers.running()],
        }
        assert nemesis.rabbit is not None
        found: dict[str, object] = {"minute": round(minute, 2)}
        found |= await asyncio.to_thread(
            measuring.of_processes, self.samples, minute, groups, nemesis.rabbit.port
        )
        try:
            found |= await asyncio.to_thread(
                measuring.of_database, self.samples, minute, nemesis.postgres.url()
            )
        except psycopg.OperationalError:
            self.samples.missed += 1
        queues = await measuring.of_queues(nemesis.workers.environment, PARLEY)
        if queues is None:
            self.samples.missed += 1
        else:
            self.queues = queues
            for name, is_later in (("jobs that wait", False), ("jobs for later", True)):
                count = sum(
                    each["waiting"] for each in queues if (each["queue"] == LATER) is is_later
                )
                self.samples.note(name, "jobs", minute, count)
            found["queues"] = [each for each in queues if each["waiting"] or each["dead"]]
        self._read_logs()
        if self.options.samples is not None:
            with self.options.samples.open("a") as file:
                file.write(json.dumps(found) + "\n")
        self.say(self._line(minute))

    def _line(self, minute: float) -> str:
        series = self.samples.series.values()
        now = [each for each in series if each.minutes[-1] >= minute]
        memory = sum(each.values[-1] for each in now if each.kind == "memory") / MIB
        files = sum(each.values[-1] for each in now if each.name.endswith("descriptors"))
        waiting = sum(each["waiting"] for each in self.queues if each["queue"] != LATER)
        dead = sum(each["dead"] for each in self.queues)
        done = sum(n for name, n in self.activities.counts.items() if ":" not in name)
        return (
            f"{minute:6.1f} min: {memory:.0f} MiB, {files:.0f} descriptors, {waiting} jobs wait,"
            f" {dead} dead; {self.around.evidence.accepted} sends,"
            f" {done} activities,"
            f" {self.nemesis.tally.all.total()} faults"
        )

    def _read_logs(self) -> None:
        for processes in (self.nemesis.servers, self.nemesis.workers):
            offset = self._read.get(processes.log, 0)
            self._read[processes.log] = measuring.logged(processes.log, self.log, offset)

    async def drained(self) -> list[str]:
        """Wait until no job waits; which queues still have some in the end."""
        deadline = time.monotonic() + DRAIN_SECONDS
        while True:
            queues = await measuring.of_queues(self.nemesis.workers.environment, PARLEY)
            if queues is not None:
                self.queues = queues
                left = [
                    f"{each['queue']}: {each['waiting']}"
                    for each in queues
                    if each["waiting"] and each["queue"] != LATER
                ]
                if not left or time.monotonic() > deadline:
                    return left
            elif time.monotonic() > deadline:
                return ["the queues cannot be listed"]
            await asyncio.sleep(2.0)


def run(options: Options, say: Callable[[str], None]) -> list[str]:
    """Run the soak; everything that it starts has ended when it returns the problems."""
    with tempfile.TemporaryDirectory(prefix="parley-soak-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        return uvloop.run(_run(options, directory, say))


async def _run(options: Options, directory: Path, say: Callable[[str], None]) -> list[str]:
    plan = Plan(
        seconds=options.minutes * 60,
        seed=options.seed,
        processes=2,
        workers=2,
        users=USERS,
        away=4,
        think_seconds=THINK_SECONDS / options.rate,
        serve=(PARLEY, "serve"),
        work=(PARLEY, "worker"),
        spared=1,
    )
    world = worlds.imagine(
        random.Random(f"{plan.seed} world"),
        users=plan.users,
        public=plan.public_channels,
        private=plan.private_channels,
        away=plan.away,
    )
    async with AsyncExitStack() as stack:
        around, nemesis = await begin(stack, plan, directory, world, Report(plan))
        await asyncio.to_thread(add_bot, nemesis.postgres.url())
        imports = Imports(
            PARLEY,
            {**nemesis.workers.environment, "PARLEY_ROOT_DOMAIN": "soak.test"},
            nemesis.postgres.url(),
            directory,
            random.Random(f"{plan.seed} imports"),
        )
        activities = Activities(around, options.rate)
        soak = Soak(options, around, nemesis, activities, imports, say)
        await _live(plan, soak)
        return await _judge(soak)


async def _live(plan: Plan, soak: Soak) -> None:
    """Let everything happen for as long as the plan says."""
    around, nemesis, world = soak.around, soak.nemesis, soak.around.world
    habits: list[Habits] = [*HABITS, Habits(leaves=0.02)]
    pollers = [
        Poller(around, world.present[n % plan.users], habits[n % len(habits)], f"poller {n}").run()
        for n in range(POLLERS)
    ]
    senders: list[Sender | Mover] = [Sender(around, user) for user in world.present[:SENDERS]]
    senders += [Mover(around, world.users[0], 0)]
    tasks = [
        together(pollers),
        together(sender.run() for sender in senders),
        together(soak.activities.loops()),
        together([soak.imports.run(IMPORT_SECONDS / soak.options.rate)]),
        together([nemesis.servers.keep_running()]),
        together([nemesis.workers.keep_running()]),
        together([soak.watch()]),
    ]
    breaking = together([_break(plan, soak)])
    try:
        await until_done(breaking, *tasks)
        around.pace.stop()
        for task in tasks[:4]:
            task.cancel()
        await asyncio.gather(*tasks[:4], return_exceptions=True)
        around.hang_up()
        left = await soak.drained()
        soak.log.update(f"error jobs left in {each}" for each in left)
        await soak.sample()
    finally:
        for task in (breaking, *tasks):
            task.cancel()
        await asyncio.gather(breaking, *tasks, return_exceptions=True)
        around.hang_up()


async def _break(plan: Plan, soak: Soak) -> None:
    """Faults with long pauses between them, for the whole run."""
    nemesis, seconds = soak.nemesis, soak.options.fault_seconds
    async with asyncio.timeout(60.0):
        await nemesis.sends_accepted()
    faults = nemesis.shuffled(int(plan.seconds / seconds * 2) + 1)
    end = time.monotonic() + plan.seconds
    await nemesis.run(faults, max(plan.seconds - 2 * seconds, 0.0), seconds)
    await asyncio.sleep(max(end - time.monotonic(), 0.0))


async def _judge(soak: Soak) -> list[str]:
    """Stop the processes, print what was found, and return what is wrong."""
    nemesis, samples, say = soak.nemesis, soak.samples, soak.say
    environment = nemesis.workers.environment
    dead = await measuring.dead_letters(environment, PARLEY, soak.queues)
    is_drained = await nemesis.servers.stop() and await nemesis.workers.stop()
    if soak.options.log is not None:
        soak.options.log.write_bytes(
            nemesis.servers.log.read_bytes() + nemesis.workers.log.read_bytes()
        )
    relations = await asyncio.to_thread(measuring.rebuilt, samples, nemesis.postgres.url())
    series = list(samples.series.values())
    for line in _report(soak, relations):
        say(line)
    problems = list(growing(series, soak.options.warm_up_minutes))
    problems += oversized(relations)
    problems += unvacuumed(samples.tables)
    problems += [f"{count} dead letters in {q}: {why}" for (q, why), count in dead.items()]
    problems += [name for name in soak.log if name.startswith("error jobs left")]
    age, name = samples.longest_transaction
    if age > OLDEST_TRANSACTION_SECONDS:
        problems.append(f"a transaction of {name} was open for {age:.0f} s")
    if not is_drained:
        problems.append("not all processes drained in the end")
    return problems


def _report(soak: Soak, relations: list[Relation]) -> Iterator[str]:
    """What was done and measured, for people."""
    samples, nemesis = soak.samples, soak.nemesis
    starts = nemesis.servers.starts + nemesis.workers.starts
    yield f"\n{soak.minute:.0f} minutes, {starts} processes, {samples.missed} samples missed"
    yield "Done:"
    yield f"  {soak.around.evidence.accepted} sends, {soak.around.evidence.events} events received"
    yield from _most(soak.activities.counts + soak.imports.counts, 60)
    yield from _most(soak.imports.failures, SHOWN)
    yield "Faults:"
    yield from _most(nemesis.tally.all, 40)
    yield "Slowest responses, in seconds:"
    slowest = sorted(soak.activities.slowest.items(), key=lambda each: -each[1])
    yield from (f"  {seconds:8.2f} {what}" for what, seconds in slowest[:SHOWN])
    yield f"Processes and connections, without the first {soak.options.warm_up_minutes:g} minutes:"
    for each in samples.series.values():
        rest = each.since(each.minutes[0] + soak.options.warm_up_minutes)
        if len(rest.values) > 2:
            yield f"  {each.name}: {shown(rest)}"
    yield "Tables and indexes, MiB: as they are, built anew, rows, rows at most:"
    for relation in sorted(relations, key=lambda each: -each.size)[: 2 * SHOWN]:
        yield (
            f"  {relation.size / MIB:7.2f} {relation.rebuilt / MIB:7.2f} {relation.rows:9,}"
            f" {relation.most_rows:9,} {relation.name}"
        )
    yield "Autovacuums seen, and dead rows at most:"
    for table, count in samples.vacuums.most_common(SHOWN):
        most = max(each.dead for each in samples.tables[table])
        yield f"  {count:5} {table} ({most:,})"
    age, name = samples.longest_transaction
    yield f"Longest transaction seen: {age:.1f} s of {name}"
    yield "Log entries:"
    yield from _most(soak.log, 40)


def _most(counts: Counter[str], limit: int) -> Iterator[str]:
    return (f"  {count:8} {name}" for name, count in counts.most_common(limit))
