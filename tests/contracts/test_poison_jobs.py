"""A job that fails for ever, or hangs: the others' jobs go on. Hand-outs are counted."""

import pytest

from server.messaging.job_broker import JobBroker
from tests.contracts.test_job_broker import QUEUE, broker, job, next_of

__all__ = ["broker"]


@pytest.mark.asyncio
async def test_a_poison_job_takes_turns_with_the_others(broker: JobBroker):
    """It fails at every attempt and is due again at once: the others' jobs go on, one by one."""
    others = [b"%d" % number for number in range(30)]
    await broker.publish(job(b"poison", realm_id=7))
    await broker.publish(*[job(body, realm_id=7 if int(body) % 2 else 8) for body in others])
    order: list[bytes] = []
    async with broker.consume(QUEUE, prefetch=1) as deliveries:
        while not set(others) <= set(order):
            delivery = await next_of(deliveries)
            order.append(delivery.body)
            if delivery.body == b"poison":
                assert delivery.attempt == order.count(b"poison")
                await delivery.retry(after_seconds=0.001)
            else:
                await delivery.ack()
    assert order.count(b"poison") <= len(others) + 1, "never twice before another job"
    assert sorted(set(order)) == sorted([b"poison", *others])
    assert all(order.count(body) == 1 for body in others)


@pytest.mark.asyncio
async def test_a_poison_job_in_hand_leaves_room_for_the_others(broker: JobBroker):
    """It is never acknowledged, as when it hangs: it costs one place of the prefetch."""
    others = [b"%d" % number for number in range(20)]
    await broker.publish(job(b"poison"), *[job(body) for body in others])
    done: list[bytes] = []
    async with broker.consume(QUEUE, prefetch=2) as deliveries:
        while len(done) < len(others):
            delivery = await next_of(deliveries)
            if delivery.body != b"poison":
                done.append(delivery.body)
                await delivery.ack()
    assert sorted(done) == sorted(others)
