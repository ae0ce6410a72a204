"""When polls that wait without events get a heartbeat."""

from collections import Counter

from server.realtime.poll import (
    HEARTBEAT_PERIOD_SECONDS,
    HEARTBEAT_SECONDS,
    seconds_until_heartbeat,
)
from storage.ids import QueueId

QUEUES = [QueueId(f"queue {number}") for number in range(5_000)]


def test_clients_that_began_to_wait_in_one_instant_get_heartbeats_apart():
    waits = [seconds_until_heartbeat(queue_id, 1234.5) for queue_id in QUEUES]
    assert min(waits) >= HEARTBEAT_SECONDS
    assert max(waits) < HEARTBEAT_SECONDS + HEARTBEAT_PERIOD_SECONDS
    a_second = Counter(int(wait) for wait in waits)
    assert len(a_second) >= HEARTBEAT_PERIOD_SECONDS
    assert max(a_second.values()) < 2 * len(QUEUES) / HEARTBEAT_PERIOD_SECONDS


def test_a_quiet_queue_gets_one_every_fifty_seconds():
    for queue_id in QUEUES[:100]:
        now = 0.0
        now += seconds_until_heartbeat(queue_id, now)
        for _ in range(10):
            polled_again = 0.2
            wait = seconds_until_heartbeat(queue_id, now + polled_again)
            assert round(polled_again + wait, 6) == 2 * HEARTBEAT_PERIOD_SECONDS
            now += polled_again + wait
