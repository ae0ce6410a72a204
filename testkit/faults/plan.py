"""The parameters of a fault run, and its report."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psycopg

from testkit.faults.history import Evidence
from testkit.faults.nemesis import ENOUGH_IN_FLIGHT, Tally

SERVE = (sys.executable, "-m", "scripts.cli.main", "serve")
WORK = (sys.executable, "-m", "scripts.cli.main", "worker")
SHOWN_VIOLATIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a run."""

    seconds: float
    seed: int
    bus: Literal["postgres", "rabbitmq"] = "rabbitmq"
    amqp_url: str | None = None
    """A broker that is there already, and is left in peace; None: one of the run's own."""
    processes: int = 3
    users: int = 60
    queues: int = 80
    senders: int = 48
    movers: int = 3
    workers: int = 2
    """Processes that run the queue processors."""
    away: int = 6
    """People besides who have no client, and get emails and pushes of direct messages."""
    public_channels: int = 5
    private_channels: int = 3
    think_seconds: float = 2.5
    pause_seconds: float = 2.5
    """Between two faults."""
    faults: tuple[str, ...] | None = None
    """These, in this order; None: all kinds, as often as time allows; empty: only load."""
    serve: Sequence[str] = SERVE
    """The command of one server process."""
    work: Sequence[str] = WORK
    """The command of one worker."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """More variables of the environment of servers and workers."""
    spared: int = 0
    """So many servers, and so many workers, suffer no faults of their own."""
    sabotage: Callable[[psycopg.Connection], None] | None = None
    """Done to the database before anything starts: how a broken build is made."""
    drain_seconds: float = 120.0
    """How long the clients may take to see everything after the last fault."""
    notices_seconds: float = 300.0
    """How long emails and pushes may take then: what has failed often waits for minutes."""
    report_seconds: float = 60.0
    keep_log: Path | None = None
    """The folder in which to leave the logs of the server processes."""


@dataclass(slots=True)
class Report:
    """The results of a run."""

    plan: Plan
    seconds: float = 0.0
    tally: Tally = field(default_factory=Tally)
    evidence: Evidence = field(default_factory=Evidence)
    violations: list[str] = field(default_factory=list)
    moves: int = 0
    commits: int = 0
    starts: int = 0
    forwarded: int = 0
    """Writes that one server process has committed for another, of processes that lived long."""
    notices: Counter[str] = field(default_factory=Counter)
    """The outcomes of emails and pushes."""

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        evidence = self.evidence
        yield f"seed {self.plan.seed}, {self.plan.bus} bus, {self.seconds:.0f} s"
        for name in sorted(self.tally.all):
            yield f"  {self.tally.all[name]:5} {name} ({self.tally.counted[name]} counted)"
        yield (
            f"faults: {self.tally.all.total()}, counted ({ENOUGH_IN_FLIGHT} writes and"
            f" {ENOUGH_IN_FLIGHT} polls in flight): {self.tally.counted.total()}"
        )
        yield f"processes started: {self.starts}; writes forwarded: {self.forwarded} at least"
        yield (
            f"sends: {len(evidence.sends)} begun, {evidence.accepted} accepted"
            f" ({evidence.accepted / max(self.seconds, 1):.0f} a second);"
            f" positions: {self.commits}; moves: {self.moves}"
        )
        yield (
            f"events delivered: {evidence.events}"
            f" ({evidence.events / max(self.seconds, 1):.0f} a second) to"
            f" {len(evidence.queues)} queues, and"
            f" {sum(q.repeated for q in evidence.queues)} once more to clients that had lost them"
        )
        for trouble, count in sorted(evidence.troubles.items()):
            yield f"  {count:5} {trouble}"
        for name, count in sorted(self.notices.items()):
            yield f"  {count:5} {name}"
        yield f"violations: {len(self.violations)}"
        for violation in self.violations[:SHOWN_VIOLATIONS]:
            yield f"  {violation}"
