"""The checker finds what it is for: builds that are broken in one place each are caught."""

import dataclasses

from benchmarks.faults.plan import Plan
from benchmarks.faults.run import run
from tests.acceptance.faults import launcher

LOAD = Plan(
    seconds=30,
    seed=3,
    bus="postgres",
    users=24,
    queues=32,
    senders=24,
    movers=6,
    workers=0,
    away=0,
    think_seconds=0.2,
    pause_seconds=0.5,
    drain_seconds=8,
    faults=(),
)


def violations(build: str, **changes: object) -> str:
    """What the checker finds in a run of this build, as text."""
    plan = dataclasses.replace(LOAD, serve=launcher.command(build), **changes)  # type: ignore[arg-type]
    return "\n".join(run(plan, print).violations)


def test_a_log_read_by_id_alone_is_caught():
    # Two commits must pass each other: where the machine has much else to do, few of them do.
    sabotage = launcher.take_positions_early
    runs = (violations("read-beyond-the-cursor", seconds=s, sabotage=sabotage) for s in (6, 12, 24))
    assert any("never saw" in found for found in runs)


def test_delivery_to_those_who_are_there_now_is_caught():
    found = violations("ask-who-is-there-now", seconds=8)
    assert "must not have seen" in found or "never saw" in found


def test_sends_that_are_done_twice_are_caught():
    found = violations("forget-names-of-sends", faults=("cut replies to clients",) * 8)
    assert "is there 2 times" in found


def test_answers_that_are_not_given_again_are_caught():
    found = violations("believe-in-answers", faults=("cut replies to clients",) * 6)
    assert "never saw" in found


def test_what_is_shown_to_a_guest_is_caught():
    found = violations("show-guests-everything", seconds=6)
    assert "must not have seen" in found


def test_a_message_that_a_narrowed_queue_misses_is_caught():
    found = violations("narrow-too-much", seconds=6)
    assert "never saw" in found


def test_a_message_beside_the_narrow_is_caught():
    found = violations("narrow-too-little", seconds=6)
    assert "must not have seen" in found
