"""What JobBroker promises, asked of every broker of jobs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio

from server.messaging import postgres
from server.messaging.amqp import LinkLostError
from server.messaging.browsing import STAYS, Browser
from server.messaging.job_broker import (
    MAX_DELAY_SECONDS,
    BrokerUnavailableError,
    Delivery,
    JobBroker,
    OutgoingJob,
)
from server.messaging.job_topology import (
    DELIVERY_LIMIT,
    dead_letter_queue_of,
    delay_queue,
    lanes_of,
)
from server.messaging.rabbitmq_jobs import Publisher
from testkit.services.job_brokers import SHORT_LEASE_SECONDS, Place

MANY = 150
"""More than a broker hears of at once."""
QUEUE, OTHER = "deferred_work", "other"


@pytest_asyncio.fixture
async def broker(place: Place) -> AsyncIterator[JobBroker]:
    async with place.open() as broker:
        yield broker


def job(
    body: bytes, *, queue: str = QUEUE, after_seconds: float = 0.0, realm_id: int = 0
) -> OutgoingJob:
    return OutgoingJob(
        queue=queue,
        body=body,
        key=f"1:{body!r}",
        after_seconds=after_seconds,
        realm_id=realm_id,
        asked_at=1_000_000_000.25,
    )


async def next_of(deliveries: AsyncIterator[Delivery]) -> Delivery:
    async with asyncio.timeout(60):
        return await anext(deliveries)


async def first_of(*consumers: AsyncIterator[Delivery]) -> Delivery:
    """The next delivery, to any of them."""
    waiting = [asyncio.ensure_future(anext(deliveries)) for deliveries in consumers]
    done, late = await asyncio.wait(waiting, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()
    await asyncio.wait(waiting)
    [delivery] = [task.result() for task in done]
    return delivery


async def is_empty(place: Place) -> bool:
    """Whether nothing waits, now or for later, and nothing is in hand as far as is known."""
    return not [one for one in await place.desk.stats([QUEUE]) if one.waiting or one.in_hand]


async def waits_untouched(place: Place) -> bool:
    """Whether one job waits that counts as never delivered, and none is in hand."""
    found = {one.queue: one for one in await place.desk.stats([QUEUE])}
    attempts = [row.attempts for row in await place.desk.waiting(QUEUE, limit=9)]
    return (found[QUEUE].waiting, found[QUEUE].in_hand, attempts) == (1, 0, [0])


@pytest.mark.asyncio
async def test_a_published_job_is_handed_out_with_its_key(broker: JobBroker, place: Place):
    await broker.publish(job(b"one"))
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        delivery = await next_of(deliveries)
        assert (delivery.body, delivery.key, delivery.attempt) == (b"one", "1:b'one'", 1)
        assert (delivery.realm_id, delivery.enqueued_at) == (0, 1_000_000_000.25)
        await delivery.ack()
    assert await is_empty(place)


@pytest.mark.asyncio
async def test_a_waiting_consumer_is_woken(broker: JobBroker, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        postgres, "POLL_INTERVAL_SECONDS", 3600.0
    )  # nothing is found but by a wake-up
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        for number in range(20):
            waiting = asyncio.create_task(next_of(deliveries))
            await asyncio.sleep(0)  # let it look first, and find nothing
            await broker.publish(job(b"%d" % number))
            delivery = await waiting
            assert delivery.body == b"%d" % number
            await delivery.ack()


@pytest.mark.asyncio
async def test_jobs_come_in_order_and_to_their_queue_only(broker: JobBroker):
    await broker.publish(*[job(b"%d" % number) for number in range(5)], job(b"x", queue="other"))
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        assert [(await next_of(deliveries)).body for _ in range(5)] == [
            b"0",
            b"1",
            b"2",
            b"3",
            b"4",
        ]
    async with broker.consume("other", prefetch=10) as deliveries:
        assert (await next_of(deliveries)).body == b"x"


@pytest.mark.asyncio
async def test_no_more_than_prefetch_are_unanswered(broker: JobBroker):
    await broker.publish(*[job(b"%d" % number) for number in range(5)])
    async with broker.consume(QUEUE, prefetch=2) as deliveries:
        first, second = await next_of(deliveries), await next_of(deliveries)
        third = asyncio.create_task(next_of(deliveries))
        async with broker.consume(QUEUE, prefetch=3) as others:  # so it was left for others
            assert [(await next_of(others)).body for _ in range(3)] == [b"2", b"3", b"4"]
            assert not third.done()
        await first.ack()
        assert (await third).body == b"2"
        await second.ack()


@pytest.mark.asyncio
async def test_two_consumers_never_hold_the_same_job(broker: JobBroker, place: Place):
    await broker.publish(*[job(b"%d" % number) for number in range(200)])
    seen: list[bytes] = []

    async def work() -> None:
        async with place.open() as own, own.consume(QUEUE, prefetch=7) as deliveries:
            while len(seen) < 200:
                async with asyncio.timeout(60):
                    delivery = await anext(deliveries)
                seen.append(delivery.body)
                await delivery.ack()
                if len(seen) == 200:
                    for _ in range(3):
                        await broker.publish(job(b"end"))

    async with asyncio.TaskGroup() as workers:
        for _ in range(3):
            workers.create_task(work())
    assert sorted(set(seen) - {b"end"}) == sorted(b"%d" % number for number in range(200))
    assert len([body for body in seen if body != b"end"]) == 200


@pytest.mark.asyncio
async def test_a_retried_job_comes_again_as_the_next_attempt(broker: JobBroker):
    await broker.publish(job(b"one"))
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        for attempt in (1, 2, 3):
            delivery = await next_of(deliveries)
            assert delivery.attempt == attempt
            await delivery.retry(after_seconds=0.02)
        await (await next_of(deliveries)).ack()


@pytest.mark.asyncio
async def test_a_delayed_job_does_not_hold_up_the_others(broker: JobBroker):
    await broker.publish(job(b"late", after_seconds=0.3), job(b"failed"), job(b"now"))
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        failed = await next_of(deliveries)
        await failed.retry(after_seconds=0.6)
        order = [(await next_of(deliveries)).body for _ in range(3)]
    assert (failed.body, order) == (b"failed", [b"now", b"late", b"failed"])


@pytest.mark.asyncio
async def test_a_dead_letter_is_kept_with_its_reason(broker: JobBroker, place: Place):
    await broker.publish(job(b"bad"))
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        await (await next_of(deliveries)).dead_letter("no such step", trace="line 1")

    dead = await place.desk.dead(QUEUE, limit=10)
    stats = next(one for one in await place.desk.stats([QUEUE]) if one.queue == QUEUE)
    assert [(row.body, row.reason, row.attempts, row.trace, row.key) for row in dead] == [
        (b"bad", "no such step", 1, "line 1", "1:b'bad'")
    ]
    assert (stats.queue, stats.waiting, stats.in_hand, stats.dead) == (QUEUE, 0, 0, 1)


@pytest.mark.asyncio
async def test_what_a_consumer_leaves_unanswered_is_given_back_without_counting(
    broker: JobBroker, place: Place
):
    await broker.publish(job(b"one"), job(b"two"))
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        await next_of(deliveries)
        await next_of(deliveries)
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        again = [await next_of(deliveries), await next_of(deliveries)]
    assert [(one.body, one.attempt) for one in again] == [(b"one", 1), (b"two", 1)]


@pytest.mark.asyncio
async def test_a_burst_that_a_consumer_leaves_unanswered_is_given_back_whole(
    broker: JobBroker, place: Place
):
    bodies = [b"%d" % number for number in range(MANY)]
    await broker.publish(*[job(body, realm_id=7) for body in bodies])
    for _ in range(10):
        async with broker.consume(QUEUE, prefetch=MANY) as deliveries:
            await next_of(deliveries)
    waiting = await place.desk.waiting(QUEUE, limit=2 * MANY)
    assert sorted(row.body for row in waiting) == sorted(bodies)
    assert {row.attempts for row in waiting} == {0}


@pytest.mark.asyncio
async def test_a_job_with_an_interrupted_answer_is_not_lost(place: Place):
    bodies = {b"%d" % number for number in range(5)}
    async with place.open_with_short_leases() as broker:
        await broker.publish(*map(job, bodies))
        for turns in place.moments:
            async with broker.consume(QUEUE, prefetch=2) as deliveries:
                delivery, _ = await next_of(deliveries), await next_of(deliveries)
                answer = asyncio.create_task(delivery.retry(after_seconds=0.05))
                for _ in range(turns):
                    await asyncio.sleep(0)
                answer.cancel()
                await asyncio.wait([answer])
        async with broker.consume(QUEUE, prefetch=1) as deliveries:
            while bodies:
                delivery = await next_of(deliveries)
                bodies.discard(delivery.body)
                await delivery.ack()


@pytest.mark.asyncio
async def test_a_job_in_hand_stays_there_longer_than_a_lease(place: Place):
    async with place.open_with_short_leases() as broker:
        await broker.publish(job(b"long"))
        async with broker.consume(QUEUE, prefetch=10) as deliveries, place.open() as other:
            delivery = await next_of(deliveries)
            async with other.consume(QUEUE, prefetch=10) as elsewhere:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(2 * SHORT_LEASE_SECONDS):
                        await anext(elsewhere)
            await delivery.ack()
    assert await is_empty(place)


@pytest.mark.asyncio
async def test_a_consumer_that_is_stopped_at_any_moment_keeps_nothing(
    broker: JobBroker, place: Place
):
    async def take_one() -> None:
        async with broker.consume(QUEUE, prefetch=1) as deliveries:
            await anext(deliveries)

    await broker.publish(job(b"one"))
    for turns in place.moments:
        consumer = asyncio.create_task(take_one())
        for _ in range(turns):
            await asyncio.sleep(0)
        consumer.cancel()
        await asyncio.wait([consumer])
        assert await waits_untouched(place)


@pytest.mark.asyncio
async def test_a_consumer_that_is_stopped_while_it_gives_back_keeps_nothing(
    broker: JobBroker, place: Place
):
    async def take_one(taken: asyncio.Event) -> None:
        async with broker.consume(QUEUE, prefetch=1) as deliveries:
            await anext(deliveries)
            taken.set()

    await broker.publish(job(b"one"))
    for turns in place.moments:
        taken = asyncio.Event()
        consumer = asyncio.create_task(take_one(taken))
        await taken.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        consumer.cancel()
        await asyncio.wait([consumer])
        assert await waits_untouched(place)


@pytest.mark.asyncio
async def test_the_job_of_a_consumer_that_was_cut_off_goes_to_another_and_is_answered_once(
    place: Place,
):
    async with place.open_directly() as healthy:
        await healthy.publish(job(b"one"))
        async with (
            place.open_with_short_leases() as cut_off,
            cut_off.consume(QUEUE, prefetch=1) as deliveries,
        ):
            stuck = await next_of(deliveries)
            place.proxy.refuse()
            async with healthy.consume(QUEUE, prefetch=1) as others:
                taken = await next_of(others)
                assert (taken.body, taken.attempt) == (b"one", 2)
                await place.proxy.allow()
                with suppress(BrokerUnavailableError):
                    await stuck.ack()  # too late: it changes nothing
                await taken.retry(after_seconds=0.01)
                again = await first_of(others, deliveries)  # who was cut off has come back
                assert (again.body, again.attempt) == (b"one", 3)
                await again.ack()
    assert await is_empty(place)


@pytest.mark.asyncio
async def test_an_answer_fails_in_the_open_while_the_broker_is_away_and_consuming_goes_on(
    place: Place,
):
    async with place.open_with_short_leases() as broker:
        await broker.publish(job(b"one"))
        async with broker.consume(QUEUE, prefetch=1) as deliveries:
            delivery = await next_of(deliveries)
            place.proxy.refuse()
            with pytest.raises(BrokerUnavailableError):
                await delivery.ack()
            await place.proxy.allow()
            again = await next_of(deliveries)  # of the same iterator
            assert (again.body, again.attempt) == (b"one", 2)


@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_a_broker_that_is_away_takes_nothing_and_is_found_again(place: Place):
    async with place.open() as broker:
        await broker.publish(job(b"before"))
        place.proxy.refuse()
        for _ in range(3):
            with pytest.raises(BrokerUnavailableError):
                await broker.publish(job(b"lost"))
        async with broker.consume(QUEUE, prefetch=10) as deliveries:
            await place.proxy.allow()
            await broker.publish(job(b"after"))
            delivery = await next_of(deliveries)
            assert delivery.body == b"before"
            await delivery.ack()
            assert (await next_of(deliveries)).body == b"after"


@pytest.mark.asyncio
async def test_no_delay_is_longer_than_a_day(broker: JobBroker):
    await broker.publish(job(b"one", after_seconds=MAX_DELAY_SECONDS))
    with pytest.raises(ValueError, match="wait"):
        await broker.publish(job(b"one", after_seconds=MAX_DELAY_SECONDS + 1))


@pytest.mark.asyncio
async def test_the_burst_of_a_realm_does_not_keep_others_waiting(broker: JobBroker):
    await broker.publish(*[job(b"burst %d" % number, realm_id=7) for number in range(300)])
    others = [b"%d" % realm_id for realm_id in (1, 2, 3, 9)]
    await broker.publish(*[job(body, realm_id=int(body)) for body in others])
    order: list[bytes] = []
    async with broker.consume(QUEUE, prefetch=4) as deliveries:
        while not set(others) <= set(order):
            delivery = await next_of(deliveries)
            order.append(delivery.body)
            await delivery.ack()
    assert len(order) <= 100
    assert b"burst 0" in order


@pytest.mark.asyncio
async def test_what_died_is_replayed_as_new_or_dropped(broker: JobBroker, place: Place):
    await broker.publish(*[job(b"%d" % number) for number in range(4)])
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        for _ in range(4):
            await (await next_of(deliveries)).dead_letter("bad")
        dead = {row.body: row.id for row in await place.desk.dead(QUEUE, limit=10)}
        assert await place.desk.replay(QUEUE, [dead[b"1"]]) == 1
        again = await next_of(deliveries)
        assert (again.body, again.attempt) == (b"1", 1)
        await again.ack()
        assert await place.desk.drop(QUEUE, [dead[b"0"], dead[b"1"]]) == 1
        assert await place.desk.replay(QUEUE, None) == 2
        assert {(await next_of(deliveries)).body for _ in range(2)} == {b"2", b"3"}
        assert await place.desk.drop(QUEUE, None) == 0


@pytest.mark.asyncio
async def test_an_operator_looks_at_what_waits_and_hurries_what_is_delayed(
    broker: JobBroker, place: Place
):
    await broker.publish(
        job(b"now"), job(b"later", after_seconds=3000), job(b"x", queue="other", after_seconds=3000)
    )
    for _ in range(2):
        (row,) = await place.desk.waiting(QUEUE, limit=10)
        assert (row.key, row.body, row.attempts) == ("1:b'now'", b"now", 0)
    later = await place.desk.later(QUEUE)
    assert later == ((2, True) if place.kind == "rabbitmq" else (1, False))
    assert await place.desk.retry(QUEUE) == 1
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        seen = [await next_of(deliveries), await next_of(deliveries)]
    assert {(one.body, one.attempt) for one in seen} == {(b"now", 1), (b"later", 1)}
    assert await place.desk.waiting("other", limit=10) == []


# What only RabbitMQ does.


@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_a_consumer_that_answers_while_it_starts_keeps_to_its_share_of_each_lane(
    broker: JobBroker, place: Place
):
    await broker.publish(*[job(b"%d" % number, realm_id=7) for number in range(MANY)])
    async with broker.consume(QUEUE, prefetch=4) as deliveries:
        for _ in range(10):
            await (await next_of(deliveries)).ack()
        [stats] = [one for one in await place.desk.stats([QUEUE]) if one.queue == QUEUE]
    assert stats.waiting >= MANY - 10 - (4 + 1), "4 of the shared lane, 1 of the busy one"


@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_the_dead_may_be_looked_at_again_and_again(
    broker: JobBroker, place: Place, amqp_url: str
):
    """A broker drops what is taken and given back too often: 20 times, from version 4 on."""
    await broker.publish(job(b"one"), job(b"two"))
    async with broker.consume(QUEUE, prefetch=2) as deliveries:
        for _ in range(2):
            await (await next_of(deliveries)).dead_letter("bad", trace="in line 7")
    first = await place.desk.dead(QUEUE, limit=9)
    assert await place.desk.dead(QUEUE, limit=9) == first
    assert await place.desk.drop(QUEUE, [first[0].id]) == 1
    assert await place.desk.dead(QUEUE, limit=9) == first[1:]

    publisher = await Publisher.open(amqp_url, "test")
    headers: asyncio.Future[dict[str, object]] = asyncio.get_running_loop().create_future()
    publisher.link.channel.basic_get(
        dead_letter_queue_of(QUEUE), lambda *got: headers.set_result(got[2].headers)
    )
    found = await publisher.link.answered(headers)
    await publisher.link.close()
    # Absent, or 0: RabbitMQ 3.10 says it of what is got one by one, and not of what is consumed.
    assert found.get("x-delivery-count", 0) == 0, found


@pytest.mark.asyncio
async def test_of_many_dead_none_is_doubled_and_none_lost(broker: JobBroker, place: Place):
    bodies = [f"{number}".encode() for number in range(MANY)]
    await broker.publish(*map(job, bodies))
    async with broker.consume(QUEUE, prefetch=10) as deliveries:
        for _ in bodies:
            await (await next_of(deliveries)).dead_letter("bad")
    dead: dict[str, bytes] = {}
    for _ in range(2):
        dead = {row.id: row.body for row in await place.desk.dead(QUEUE, limit=2 * MANY)}
        assert sorted(dead.values()) == sorted(bodies)
    half = list(dead)[: MANY // 2]
    assert await place.desk.drop(QUEUE, half) == len(half)
    assert len(await place.desk.dead(QUEUE, limit=2 * MANY)) == MANY - len(half)
    assert await place.desk.replay(QUEUE, None) == MANY - len(half)
    assert await place.desk.dead(QUEUE, limit=9) == []
    assert len(await place.desk.waiting(QUEUE, limit=2 * MANY)) == MANY - len(half)
    async with broker.consume(QUEUE, prefetch=MANY) as deliveries:
        await next_of(deliveries)  # and it is given back, as all others that have come
    assert len(await place.desk.waiting(QUEUE, limit=2 * MANY)) == MANY - len(half)


@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_a_deleted_queue_is_made_again(broker: JobBroker, place: Place, amqp_url: str):
    await broker.publish(job(b"one"), job(b"two"))
    async with broker.consume(QUEUE, prefetch=2) as deliveries:
        taken = [await next_of(deliveries), await next_of(deliveries)]
        publisher = await Publisher.open(amqp_url, "test")
        for name in (dead_letter_queue_of(QUEUE), delay_queue(0.05)[0]):
            gone = publisher.link.request(publisher.link.channel.queue_delete, queue=name)
            await publisher.link.answered(gone)
        await publisher.link.close()
        await taken[0].dead_letter("bad")
        await taken[1].retry(after_seconds=0.05)
        again = await next_of(deliveries)
        assert (again.body, again.attempt) == (b"two", 2)
        await again.ack()
    assert [row.body for row in await place.desk.dead(QUEUE, limit=9)] == [b"one"]


@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_a_consumer_of_a_deleted_queue_goes_on_with_a_new_one(
    broker: JobBroker, place: Place, amqp_url: str
):
    async with (
        broker.consume(OTHER, prefetch=1) as others,
        broker.consume(QUEUE, prefetch=2) as deliveries,
    ):
        await broker.publish(job(b"one"), job(b"other", queue=OTHER))
        undisturbed = await next_of(others)
        await (await next_of(deliveries)).ack()
        for lane in lanes_of(QUEUE)[:2]:
            waiting = asyncio.create_task(next_of(deliveries))
            publisher = await Publisher.open(amqp_url, "test")
            gone = publisher.link.request(publisher.link.channel.queue_delete, queue=lane)
            await publisher.link.answered(gone)
            await publisher.link.close()
            # A broker told of the name anew at that very moment may take the queue for the old one.
            await until_there(amqp_url, lane)
            await broker.publish(job(lane.encode()))
            delivery = await waiting
            assert delivery.body == lane.encode()
            await delivery.ack()
        # It has a channel of its own on the same connection, which has stayed.
        await undisturbed.ack()
    assert not [row for row in await place.desk.stats([OTHER]) if row.waiting]


async def until_there(amqp_url: str, name: str) -> None:
    """Wait until the queue exists."""
    async with asyncio.timeout(60):
        while True:
            publisher = await Publisher.open(amqp_url, "test")
            with suppress(LinkLostError):  # the answer to who asks for what is not there
                await publisher.topology.ready(name)
                return await publisher.link.close()
            await publisher.link.close()


@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_a_job_that_kills_its_consumers_is_set_aside_by_the_broker(
    broker: JobBroker, place: Place, amqp_url: str
):
    await broker.publish(job(b"killer"))
    publisher = await Publisher.open(amqp_url, "test")
    browser = Browser(amqp_url, publisher.topology)
    async with asyncio.timeout(60):
        while not (dead := await place.desk.dead(QUEUE, limit=9)):
            await browser.go_through(lanes_of(QUEUE)[0], lambda _: STAYS)
    await publisher.link.close()
    assert [(row.body, row.key) for row in dead] == [(b"killer", "1:b'killer'")]
    assert "too often" in dead[0].reason
    assert dead[0].attempts > DELIVERY_LIMIT
