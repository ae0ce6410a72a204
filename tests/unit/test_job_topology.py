"""Which lane a job takes, and how long it waits."""

import pytest

from server.messaging.job_broker import MAX_DELAY_SECONDS
from server.messaging.job_topology import (
    ALLOWANCE,
    ALLOWED_A_SECOND,
    REMEMBERED,
    Lanes,
    delay_queue,
    lanes_of,
)


class Watch:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_realm_has_its_allowance_in_the_shared_lane_and_another_its_own():
    lanes = Lanes(Watch())
    chosen = [lanes.choose("q", 7) for _ in range(ALLOWANCE + 5)]
    shared, *busy = lanes_of("q")
    assert chosen == [shared] * ALLOWANCE + [busy[7 % len(busy)]] * 5
    assert lanes.choose("q", 8) == shared
    assert lanes.choose("other", 7) == lanes_of("other")[0]


def test_an_allowance_grows_again_up_to_what_it_was():
    watch = Watch()
    lanes = Lanes(watch)
    for _ in range(ALLOWANCE):
        lanes.choose("q", 7)
    shared, *_ = lanes_of("q")
    watch.seconds += 1 / ALLOWED_A_SECOND
    assert [lanes.choose("q", 7) == shared for _ in range(2)] == [True, False]
    watch.seconds += 1_000_000
    assert [lanes.choose("q", 7) == shared for _ in range(ALLOWANCE + 1)].count(True) == ALLOWANCE


def test_who_has_been_quiet_is_forgotten_and_who_has_not_is_not():
    watch = Watch()
    lanes = Lanes(watch)
    for realm_id in range(REMEMBERED):
        lanes.choose("q", realm_id)
    watch.seconds += ALLOWANCE / ALLOWED_A_SECOND + 1
    for _ in range(ALLOWANCE):
        lanes.choose("q", REMEMBERED)
    assert lanes.choose("q", REMEMBERED) != lanes_of("q")[0]


@pytest.mark.parametrize(
    ("seconds", "milliseconds"),
    [(0.001, 50), (0.05, 50), (0.06, 100), (2, 2000), (2.1, 3000), (120, 120_000)],
)
def test_a_delay_is_rounded_up_never_down(seconds: float, milliseconds: int):
    assert delay_queue(seconds) == (f"jobs.delay.{milliseconds}", milliseconds)


def test_there_is_a_queue_for_every_delay_that_is_allowed():
    assert delay_queue(MAX_DELAY_SECONDS)[1] == MAX_DELAY_SECONDS * 1000
