"""The checker finds what it is for: builds that are broken in one place each are caught."""

import dataclasses

from testkit.faults.plan import Plan
from testkit.faults.run import run
from tests.acceptance.faults import launcher

LOAD = Plan(
    seconds=30,
    seed=3,
    bus="postgres",
    processes=2,
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


def is_caught(build: str, *signs: str, seconds: int, **changes: object) -> bool:
    """Whether the checker says one of these. It takes longer where the machine has much to do."""
    runs = (violations(build, seconds=seconds * more, **changes) for more in (1, 2, 4))
    return any(sign in found for found in runs for sign in signs)


def test_a_log_read_by_id_alone_is_caught():
    # Two commits must pass each other.
    sabotage = launcher.take_positions_early
    assert is_caught("read-beyond-the-cursor", "never saw", seconds=6, sabotage=sabotage)


def test_delivery_to_those_who_are_there_now_is_caught():
    assert is_caught("ask-who-is-there-now", "must not have seen", "never saw", seconds=5)


def test_sends_that_are_done_twice_are_caught():
    faults = ("cut replies to clients",) * 8
    assert is_caught("forget-names-of-sends", "is there 2 times", seconds=30, faults=faults)


def test_answers_that_are_not_given_again_are_caught():
    faults = ("cut replies to clients",) * 6
    assert is_caught("believe-in-answers", "never saw", seconds=30, faults=faults)


def test_what_is_shown_to_a_guest_is_caught():
    assert is_caught("show-guests-everything", "must not have seen", seconds=3)


def test_a_message_that_a_narrowed_queue_misses_is_caught():
    assert is_caught("narrow-too-much", "never saw", seconds=3)


def test_a_message_beside_the_narrow_is_caught():
    assert is_caught("narrow-too-little", "must not have seen", seconds=3)
