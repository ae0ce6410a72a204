"""What EventBus promises, asked of both buses."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

import pika
import psycopg
import pytest
import pytest_asyncio
import uvloop
from structlog.testing import capture_logs
from typing_extensions import override

from server.messaging import rabbitmq
from server.messaging.event_bus import MAX_EPHEMERAL_BYTES, BusListener, EventBus, Hint
from server.messaging.postgres import PostgresEventBus, open_postgres_bus
from server.messaging.rabbitmq import MAX_CARGO_BYTES, RabbitEventBus, open_rabbitmq_bus
from storage.database import open_database
from storage.ids import Position, RealmId
from testkit.services.proxy import Proxy, proxy_to
from testkit.services.rabbitmq import LossyBus, LossyListener, Recorder

REALM = RealmId(7)
OTHER = RealmId(8)


def hint(last: int, first: int | None = None, realm_id: RealmId = REALM) -> Hint:
    return Hint(realm_id, 1, Position(first or last), Position(last))


@dataclass
class Network:
    """One kind of bus, and the network between its processes and its broker."""

    open: Callable[[BusListener], AbstractAsyncContextManager[PostgresEventBus | RabbitEventBus]]
    proxy: Proxy


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who follows waits for a broker on a busy machine."""
    monkeypatch.setattr(rabbitmq, "FOLLOW_TIMEOUT_SECONDS", 60.0)


@pytest_asyncio.fixture(params=["postgres", "rabbitmq"])
async def network(
    request: pytest.FixtureRequest, server_url: str, database_url: str, amqp_url: str
) -> AsyncIterator[Network]:
    async with AsyncExitStack() as stack:
        if request.param == "rabbitmq":
            url = urlsplit(amqp_url)
            proxy = await stack.enter_async_context(proxy_to(url.port or 5672))
            proxied = url._replace(
                netloc=f"{url.username}:{url.password}@127.0.0.1:{proxy.port}"
            ).geturl()
            yield Network(lambda listener: open_rabbitmq_bus(proxied, listener), proxy)
        else:
            port = int(psycopg.conninfo.conninfo_to_dict(database_url).get("port") or 5432)
            proxy = await stack.enter_async_context(proxy_to(port))
            through = psycopg.conninfo.make_conninfo(
                database_url, host="127.0.0.1", port=proxy.port
            )
            database = await stack.enter_async_context(open_database(through, min_size=0))
            yield Network(lambda listener: open_postgres_bus(database, listener), proxy)


@dataclass
class Pair:
    """Two processes: one that speaks, and one that follows REALM."""

    speaker: PostgresEventBus | RabbitEventBus
    follower: PostgresEventBus | RabbitEventBus
    said: Recorder
    heard: Recorder


@pytest_asyncio.fixture
async def pair(network: Network) -> AsyncIterator[Pair]:
    said, heard = Recorder(), Recorder()
    async with network.open(said) as speaker, network.open(heard) as follower:
        await follower.follow(REALM)
        yield Pair(speaker, follower, said, heard)


async def until_covered(recorder: Recorder, last: int) -> list[Hint]:
    """The hints up to one that reaches this position."""
    hints = [await recorder.hint()]
    while hints[-1].last < last:
        hints.append(await recorder.hint())
    return hints


@pytest.mark.asyncio
async def test_a_hint_reaches_the_process_that_follows_the_realm(pair: Pair):
    pair.speaker.publish(hint(5, first=3))

    heard = await pair.heard.hint()

    assert (heard.realm_id, heard.epoch, heard.first, heard.last) == (REALM, 1, 3, 5)


@pytest.mark.asyncio
async def test_other_realms_are_not_heard(pair: Pair):
    pair.speaker.publish(hint(5, realm_id=OTHER))
    pair.speaker.publish_ephemeral(OTHER, b"{}")
    pair.speaker.publish(hint(6))
    pair.speaker.publish_ephemeral(REALM, b"last")

    assert (await pair.heard.hint()).realm_id == REALM
    assert await pair.heard.ephemeral() == (REALM, b"last")


@pytest.mark.asyncio
async def test_a_process_does_not_hear_itself(pair: Pair):
    await pair.speaker.follow(REALM)
    pair.speaker.publish(hint(5))
    pair.speaker.publish_ephemeral(REALM, b"own")
    assert (await pair.heard.hint()).last == 5
    pair.follower.publish(hint(6))
    pair.follower.publish_ephemeral(REALM, b"other")

    assert (await pair.said.hint()).last == 6
    assert await pair.said.ephemeral() == (REALM, b"other")


@pytest.mark.asyncio
async def test_a_follow_is_in_force_when_it_returns(pair: Pair):
    for number in range(100, 150):
        realm_id = RealmId(number)
        await pair.follower.follow(realm_id)
        pair.speaker.publish(hint(1, realm_id=realm_id))
        assert (await pair.heard.hint()).realm_id == realm_id


@pytest.mark.asyncio
async def test_following_twice_is_following_once(pair: Pair):
    await pair.follower.follow(REALM)
    pair.speaker.publish_ephemeral(REALM, b"once")
    assert await pair.heard.ephemeral() == (REALM, b"once")
    pair.follower.unfollow(REALM)
    await pair.follower.follow(OTHER)
    pair.speaker.publish_ephemeral(REALM, b"not followed")
    pair.speaker.publish_ephemeral(OTHER, b"end")

    assert await pair.heard.ephemeral() == (OTHER, b"end")


@pytest.mark.asyncio
async def test_a_burst_of_hints_is_covered_by_what_arrives(pair: Pair):
    for position in range(1, 1001):
        pair.speaker.publish(hint(position))

    heard = await until_covered(pair.heard, 1000)

    expected = 1
    for one in heard:
        assert one.first == expected
        expected = one.last + 1
    assert pair.speaker.dropped == 0


@pytest.mark.asyncio
async def test_ephemeral_events_arrive_in_order(pair: Pair):
    bodies = [f'{{"number":{number},"name":"Zoë"}}'.encode() for number in range(200)]
    for body in bodies:
        pair.speaker.publish_ephemeral(REALM, body)

    assert [(await pair.heard.ephemeral())[1] for _ in bodies] == bodies


@pytest.mark.asyncio
async def test_an_ephemeral_event_is_as_long_as_allowed_and_no_longer(pair: Pair):
    longest = b"x" * MAX_EPHEMERAL_BYTES
    for wrong in (longest + b"x", b"a\0b", b"\xff"):
        with pytest.raises(ValueError):  # noqa: PT011
            pair.speaker.publish_ephemeral(REALM, wrong)
    pair.speaker.publish_ephemeral(REALM, longest)

    assert await pair.heard.ephemeral() == (REALM, longest)


@pytest.mark.asyncio
async def test_three_processes_hear_each_other(network: Network):
    recorders = [Recorder() for _ in range(3)]
    async with AsyncExitStack() as stack:
        buses = [await stack.enter_async_context(network.open(each)) for each in recorders]
        for bus in buses:
            await bus.follow(REALM)
        for number, bus in enumerate(buses):
            bus.publish_ephemeral(REALM, b"%d" % number)

        for number, recorder in enumerate(recorders):
            others = {(await recorder.ephemeral())[1], (await recorder.ephemeral())[1]}
            assert others == {b"0", b"1", b"2"} - {b"%d" % number}


@pytest.mark.asyncio
async def test_a_cut_connection_is_a_gap_and_is_made_again_with_its_follows(
    network: Network, pair: Pair
):
    for number in range(3):
        network.proxy.cut()
        await asyncio.gather(pair.heard.gap(), _until_heard(pair, hint(number + 1)))


async def _until_heard(pair: Pair, wanted: Hint) -> None:
    """Say it until it is heard: the speaker's own connection was cut as well."""

    async def hear() -> None:
        while await pair.heard.hint() != wanted:
            pass  # an earlier one, said once more than needed

    listening = asyncio.create_task(hear())
    while not listening.done():
        pair.speaker.publish(wanted)
        await asyncio.wait([listening], timeout=0.02)
    await listening


@pytest.mark.asyncio
async def test_nothing_waits_or_fails_while_the_broker_is_away(network: Network, pair: Pair):
    network.proxy.refuse()
    async with asyncio.timeout(20):
        for number in range(1, 200):
            pair.speaker.publish(hint(number))
            pair.speaker.publish_ephemeral(REALM, b"{}")
        await pair.follower.follow(OTHER)
        pair.follower.unfollow(REALM)
        await pair.follower.follow(REALM)
    await network.proxy.allow()
    await pair.heard.gap()

    await _until_heard(pair, hint(200, realm_id=OTHER))


@pytest.mark.asyncio
async def test_a_bus_opens_while_the_broker_is_away_and_finds_it_later(network: Network):
    network.proxy.refuse()
    heard, said = Recorder(), Recorder()
    async with network.open(heard) as follower, network.open(said) as speaker:
        await follower.follow(REALM)
        await network.proxy.allow()
        await heard.gap()
        await _until_heard(Pair(speaker, follower, said, heard), hint(1))


@pytest.mark.asyncio
async def test_a_listener_that_fails_does_not_end_the_bus(network: Network):
    class Failing(Recorder):
        @override
        def on_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
            super().on_ephemeral(realm_id, body)
            raise LookupError(body)

    heard = Failing()
    async with network.open(heard) as follower, network.open(Recorder()) as speaker:
        await follower.follow(REALM)
        with capture_logs() as logs:
            speaker.publish_ephemeral(REALM, b"one")
            speaker.publish_ephemeral(REALM, b"two")
            bodies = [(await heard.ephemeral())[1], (await heard.ephemeral())[1]]
    assert bodies == [b"one", b"two"]
    assert [line["event"] for line in logs] == 2 * ["event_bus.listener_failed"]


@pytest.mark.asyncio
async def test_an_error_of_the_body_comes_out_as_it_is(network: Network):
    with pytest.raises(LookupError):
        async with network.open(Recorder()):
            raise LookupError


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
@pytest.mark.asyncio
async def test_a_lossy_bus_loses_its_share_and_never_an_ephemeral_event(pair: Pair, share: float):
    lossy: EventBus = LossyBus(pair.speaker, share, seed=1)
    for position in range(1, 1001):
        lossy.publish(hint(position))
    lossy.publish_ephemeral(REALM, b"end")

    assert await pair.heard.ephemeral() == (REALM, b"end")
    assert isinstance(lossy, LossyBus)
    assert abs(lossy.lost - 1000 * share) <= 30


@pytest.mark.asyncio
async def test_a_lossy_listener_misses_what_others_hear(network: Network):
    heard = Recorder()
    deaf = LossyListener(heard, 1.0)
    async with network.open(deaf) as follower, network.open(Recorder()) as speaker:
        await follower.follow(REALM)
        speaker.publish(hint(1))
        speaker.publish_ephemeral(REALM, b"end")
        assert await heard.ephemeral() == (REALM, b"end")
    assert deaf.lost == 1


# What only one of them does.


@pytest.mark.parametrize("network", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_rabbitmq_carries_the_entries_unless_they_are_too_large(pair: Pair):
    small = (b'{"a":1}', b'{"b":"\xc3\xab"}')
    large = (b"x" * MAX_CARGO_BYTES, b"y")
    pair.speaker.publish(Hint(REALM, 3, Position(1), Position(2), small))
    pair.speaker.publish(Hint(REALM, 3, Position(3), Position(4), large))

    assert await pair.heard.hint() == Hint(REALM, 3, Position(1), Position(2), small)
    assert await pair.heard.hint() == Hint(REALM, 3, Position(3), Position(4))


@pytest.mark.parametrize("network", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_the_queue_of_a_process_ends_with_it(network: Network, amqp_url: str):
    async with network.open(Recorder()) as bus:
        assert isinstance(bus, RabbitEventBus)
        queue = bus.queue
        with pytest.raises(pika.exceptions.ChannelClosedByBroker) as refused:
            await asyncio.to_thread(_look_for, amqp_url, queue)
        assert refused.value.reply_code == 405  # exclusive to its process, so it is there
    with pytest.raises(pika.exceptions.ChannelClosedByBroker) as refused:
        await asyncio.to_thread(_look_for, amqp_url, queue)
    assert refused.value.reply_code == 404


@pytest.mark.parametrize("network", ["rabbitmq"], indirect=True)
@pytest.mark.asyncio
async def test_a_deleted_queue_is_a_gap_and_is_made_again(pair: Pair):
    assert isinstance(pair.follower, RabbitEventBus)
    link = pair.follower._link
    assert link is not None
    _ = link.request(link.channel.queue_delete, queue=pair.follower.queue)
    await pair.heard.gap()
    pair.speaker.publish(hint(7))
    assert (await pair.heard.hint()).last == 7


def _look_for(url: str, queue: str) -> None:
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        connection.channel().queue_declare(queue, passive=True)
    finally:
        connection.close()


@pytest.mark.parametrize("network", ["postgres"], indirect=True)
@pytest.mark.asyncio
async def test_postgres_merges_the_hints_that_wait_for_the_notify_in_flight(pair: Pair):
    for position in range(1, 1001):
        pair.speaker.publish(hint(position))

    assert len(await until_covered(pair.heard, 1000)) <= 3


def test_rabbitmq_works_on_the_fast_loop(amqp_url: str):
    async def talk() -> Hint:
        heard = Recorder()
        async with (
            open_rabbitmq_bus(amqp_url, heard) as follower,
            open_rabbitmq_bus(amqp_url, Recorder()) as speaker,
        ):
            await follower.follow(REALM)
            speaker.publish(hint(1))
            return await heard.hint()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(talk()) == hint(1)
