"""Kill, stop, restart and cut everything for a minute: nothing is lost, doubled or reordered."""

from itertools import zip_longest

import psutil
import pytest

from testkit import fork_server
from testkit.faults.nemesis import WEIGHTS
from testkit.faults.plan import Plan, Report
from testkit.faults.rabbitmq import rabbitmq_script
from testkit.faults.run import run

OFTEN = (
    "kill a server process",
    "stop a server process for a while",
    "cut replies to clients",
    "cut connections to Postgres",
    "cut connections to Postgres, and deliver late",
    "drain a server process",
)
BROKER_FAULTS = ("kill RabbitMQ and start it again", "stop RabbitMQ for a while")


def faults_of(bus: str) -> tuple[str, ...]:
    """Each kind of fault once, the frequent ones between the others."""
    names = [name for name in WEIGHTS if bus == "rabbitmq" or name not in BROKER_FAULTS]
    rare = [name for name in names if name not in OFTEN]
    return tuple(name for each, often in zip_longest(rare, OFTEN) for name in (each, often) if name)


def plan(bus: str) -> Plan:
    return Plan(
        seconds=150,
        seed=7,
        bus="rabbitmq" if bus == "rabbitmq" else "postgres",
        users=24,
        queues=28,
        senders=18,
        think_seconds=1.0,
        pause_seconds=0.3,
        faults=faults_of(bus),
    )


def assert_clean(report: Report) -> None:
    print("\n".join(report.lines()))
    assert report.violations == []
    assert report.tally.all.total() >= len(report.plan.faults or ())
    assert report.tally.counted.total() >= report.tally.all.total() // 2
    assert report.evidence.events > 1_000
    assert report.moves > 0


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("bus", ["postgres", "rabbitmq"])
def test_no_fault_loses_or_doubles_or_reorders_anything(bus):
    if bus == "rabbitmq":
        assert rabbitmq_script(), "RabbitMQ is not installed"
    fork_server.start()  # it stays
    before = children()
    assert_clean(run(plan(bus), print))
    assert children() <= before
