"""Run histories until enough was compared; shrink and print a failure."""

import asyncio
import itertools
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from storage.migrate import migrate
from testkit.faults.postgres import PrivatePostgres
from testkit.leaks.history import Failure, Tally, live, relive
from testkit.leaks.together import Drawn
from testkit.leaks.world import Place, serve

SHOWN_PROBLEMS = 20
REPORT_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a run."""

    checks: int
    seed: int
    operations: int = 200
    """In each history."""
    shrink_seconds: float = 60.0
    """How long to look for a shorter history that fails."""
    shrink_to: int = 0
    """A history of so few operations is short enough."""


@dataclass(slots=True)
class Report:
    """The results of a run."""

    plan: Plan
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    failure: Failure | None = None

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        tally = self.tally
        yield (
            f"seed {self.plan.seed}: {tally.total} checks in {tally.histories} whole histories,"
            f" {tally.requests} requests, {self.seconds:.0f} s"
        )
        yield "operations done (refused), and checks that follow from each:"
        for name in sorted(tally.operations | tally.refused):
            done, refused = tally.operations[name], tally.refused[name]
            yield f"  {name:16} {done:8} ({refused:6}) {tally.checks_by_operation[name]:10}"
        yield "checks by kind:"
        for kind in sorted(tally.checks):
            yield f"  {kind:32} {tally.checks[kind]:10}"
        if self.failure is None:
            yield "0 extra, 0 missing"
            return
        wrong, steps = len(self.failure.problems), len(self.failure.operations)
        yield f"{wrong} wrong, after {steps} operations:"
        for problem in self.failure.problems[:SHOWN_PROBLEMS]:
            yield f"  {problem}"
        yield "the shortest history found:"
        for operation in self.failure.operations:
            yield f"  {operation}"


def run(plan: Plan, database_url: str, say: Callable[[str], None] = lambda _: None) -> Report:
    """Run the plan on a migrated database, and leave its organizations there."""
    return uvloop.run(_run(plan, database_url, say))


def run_alone(plan: Plan, say: Callable[[str], None] = lambda _: None) -> Report:
    """Do it on a Postgres of its own, which is gone when it returns."""
    with tempfile.TemporaryDirectory(prefix="parley-leaks-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        return uvloop.run(_run_alone(plan, directory, say))


async def _run_alone(plan: Plan, directory: Path, say: Callable[[str], None]) -> Report:
    async with _postgres(directory) as url:
        await asyncio.to_thread(migrate, url)
        return await _run(plan, url, say)


@asynccontextmanager
async def _postgres(directory: Path) -> AsyncIterator[str]:
    postgres = PrivatePostgres(directory)
    try:
        postgres.create()
        await postgres.start()
        yield postgres.url()
    finally:
        postgres.close()


async def _run(plan: Plan, database_url: str, say: Callable[[str], None]) -> Report:
    report = Report(plan)
    say(f"seed {plan.seed}")
    started = reported = time.monotonic()
    async with serve(database_url) as place:
        for number in itertools.count():
            seed = f"{plan.seed} {number}"
            failure = await live(place, f"h{number}", seed, plan.operations, report.tally)
            report.seconds = time.monotonic() - started
            if failure is not None:
                say(f"wrong after {len(failure.operations)} operations; looking for fewer:")
                say(f"  {failure.problems[0]}")
                report.failure = await shrunk(plan, place, seed, failure)
                break
            if report.tally.total >= plan.checks:
                break
            if time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                say(f"{report.seconds:6.0f} s: {report.tally.total} checks, nothing wrong so far")
    return report


async def shrunk(plan: Plan, place: Place, seed: str, failure: Failure) -> Failure:
    """The failure with fewer operations: pieces are left out as long as it still fails."""
    deadline = time.monotonic() + plan.shrink_seconds
    names = itertools.count()
    best = failure
    piece = len(best.operations) // 2

    def goes_on() -> bool:
        return len(best.operations) > plan.shrink_to and time.monotonic() < deadline

    while piece and goes_on():
        start = 0
        while start < len(best.operations) and goes_on():
            shorter = _without(best.operations, start, piece)
            found = await relive(place, f"shrink{next(names)}", seed, shorter, best.suspects)
            if found is None or not _is_alike(found, failure):
                start += piece
            else:
                best = found
        piece //= 2
    return best


def _is_alike(found: Failure, failure: Failure) -> bool:
    """Whether both have the same fault, as far as their texts show."""
    if failure.suspects:
        return bool(found.suspects & failure.suspects)
    return not found.suspects


def _without(operations: Sequence[Drawn], start: int, count: int) -> list[Drawn]:
    return [*operations[:start], *operations[start + count :]]
