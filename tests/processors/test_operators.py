"""`parley queues` and `parley status`, on both brokers."""

import asyncio
import json
import os
import re
from contextlib import suppress

import pytest
import pytest_asyncio
from click.testing import CliRunner, Result
from pika import BasicProperties

from queue_processors.heartbeat import Heartbeat
from queue_processors.shipper import Shipper
from queue_processors.work_log import WorkLog
from scripts.cli.main import cli
from server.domain.clock import SystemClock
from server.messaging.confirms import Message
from server.messaging.job_broker import JobBroker, OutgoingJob
from server.messaging.job_topology import dead_letter_queue_of, lanes_of
from server.messaging.rabbitmq_jobs import Publisher
from server.telemetry.metrics import Metrics
from storage import workers
from storage.database import Database
from testkit.services.job_brokers import Place

QUEUE = "deferred_work"


class Operator:
    """An operator at a terminal."""

    def __init__(self, settings: dict[str, str]) -> None:
        unset = {name: None for name in os.environ if "PARLEY" in name}  # noqa: TID251
        self._environment: dict[str, str | None] = {**unset, "AMQP_URL": None, **settings}

    async def run(self, *arguments: str) -> Result:
        return await asyncio.to_thread(
            CliRunner().invoke, cli, arguments, env=self._environment, prog_name="parley"
        )

    async def queues(self, *arguments: str) -> str:
        done = await self.run("queues", *arguments)
        assert done.exit_code == 0, done.output
        return done.stdout


@pytest.fixture
def operator(place: Place, database_url: str, request: pytest.FixtureRequest) -> Operator:
    settings = {"DATABASE_URL": database_url}
    if place.kind == "rabbitmq":
        settings["AMQP_URL"] = request.getfixturevalue("amqp_url")
    return Operator(settings)


@pytest_asyncio.fixture
async def bury_two(place: Place) -> None:
    async with place.open_directly() as broker:
        await broker.publish(*[OutgoingJob(queue=QUEUE, body=b"{}", key=k) for k in ("a", "b")])
        async with broker.consume(QUEUE, prefetch=2) as deliveries:
            for _ in range(2):
                await (await anext(deliveries)).dead_letter("it cannot be", trace="in line 7")


@pytest.mark.usefixtures("bury_two")
@pytest.mark.asyncio
async def test_dead_jobs_are_listed_inspected_replayed_and_dropped(operator: Operator):
    rows = {row["queue"]: row for row in json.loads(await operator.queues("list", "--json"))}
    assert (rows[QUEUE]["dead"], rows[QUEUE]["waiting"], rows[QUEUE]["paused"]) == (2, 0, False)
    table = await operator.queues("inspect", QUEUE, "--dead", "--trace")
    assert "it cannot be" in table
    assert "in line 7" in table
    dead = json.loads(await operator.queues("inspect", QUEUE, "--dead", "--json"))
    assert {row["key"] for row in dead} == {"a", "b"}
    assert {row["trace"] for row in dead} == {"in line 7"}

    one = next(row["id"] for row in dead if row["key"] == "a")
    assert await operator.queues("replay", QUEUE, one) == f"1 job went back into {QUEUE}.\n"
    waiting = json.loads(await operator.queues("inspect", QUEUE, "--json"))
    assert [(row["key"], row["attempts"]) for row in waiting] == [("a", 0)]
    assert await operator.queues("drop", QUEUE, "--all") == f"1 job of {QUEUE} forgotten.\n"
    assert await operator.queues("inspect", QUEUE, "--dead") == "Nothing has died.\n"


@pytest.mark.asyncio
async def test_what_waits_for_its_time_is_counted(operator: Operator, place: Place):
    assert await operator.queues("inspect", QUEUE) == "Nothing waits.\n"
    async with place.open_directly() as broker:
        await broker.publish(OutgoingJob(queue=QUEUE, body=b"{}", key="a", after_seconds=3000))
    queues = "all queues together" if place.kind == "rabbitmq" else QUEUE
    assert (await operator.queues("inspect", QUEUE)).splitlines() == [
        "Nothing waits to be handed out now.",
        (
            f"1 job of {queues} waits for a later time:"
            f" `parley queues retry {QUEUE}` hands those of {QUEUE} out now."
        ),
    ]
    assert json.loads(await operator.queues("inspect", QUEUE, "--json")) == []


@pytest.mark.asyncio
@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
async def test_what_others_have_published_can_be_named_and_goes(
    operator: Operator, place: Place, amqp_url: str
):
    """Without an id, with headers that mean nothing here, in the queue and among its dead."""
    headers = {"realm_id": "x", "attempts": -1, "enqueued_ms": 1 << 60, "died_ms": [], "lane": 7}
    strange = BasicProperties(headers=headers)
    dead = [Message("", dead_letter_queue_of(QUEUE), body, strange) for body in (b"1", b"2")]
    async with place.open_directly() as broker:
        await broker.publish(OutgoingJob(queue=QUEUE, body=b"{}", key="ours"))
        publisher = await Publisher.open(amqp_url, "test")
        to_lane = Message("", lanes_of(QUEUE)[0], b"3", strange)
        await publisher.confirms.publish([*dead, to_lane])
        await publisher.link.close()
        async with broker.consume(QUEUE, prefetch=2) as deliveries:
            for _ in range(2):
                delivery = await anext(deliveries)
                await (delivery.ack() if delivery.key else delivery.dead_letter("not ours"))

    dead = json.loads(await operator.queues("inspect", QUEUE, "--dead", "--json"))
    named = {row["body"]: row["id"] for row in dead}
    assert named.keys() == {"1", "2", "3"}
    assert len(set(named.values()) - {"None", "", None}) == 3
    assert await operator.queues("drop", QUEUE, named["1"]) == f"1 job of {QUEUE} forgotten.\n"
    assert await operator.queues("replay", QUEUE, named["3"]) == f"1 job went back into {QUEUE}.\n"
    dead = json.loads(await operator.queues("inspect", QUEUE, "--dead", "--json"))
    assert [(row["body"], row["id"]) for row in dead] == [("2", named["2"])]
    waiting = json.loads(await operator.queues("inspect", QUEUE, "--json"))
    assert [row["body"] for row in waiting] == ["3"]


@pytest.mark.asyncio
async def test_slips_are_told_in_a_sentence(operator: Operator):
    for arguments, sentence in (
        (("inspect", "nonsense"), "There is no queue nonsense."),
        (("replay", QUEUE), "Say which"),
        (("drop", QUEUE, "1", "--all"), "Say which"),
    ):
        done = await operator.run("queues", *arguments)
        assert done.exit_code == 1
        assert sentence in done.stderr


@pytest.mark.asyncio
async def test_a_queue_is_paused_retried_and_resumed(operator: Operator, place: Place):
    put_off = OutgoingJob(queue=QUEUE, body=b"{}", after_seconds=3000, asked_at=1_000_000_000)
    async with place.open_directly() as broker:
        await broker.publish(put_off)
    [stats] = [one for one in await place.desk.stats([QUEUE]) if one.queue == QUEUE]
    assert stats.oldest_seconds == 0
    assert "paused" in await operator.queues("pause", QUEUE)
    assert "yes" in await operator.queues("list")
    assert await operator.queues("retry", QUEUE) == f"1 job of {QUEUE} may be tried again now.\n"
    assert await operator.queues("resume", QUEUE) == f"{QUEUE} goes on.\n"
    assert await operator.queues("resume", QUEUE) == f"{QUEUE} was not paused.\n"


@pytest.mark.asyncio
async def test_status_knows_who_works_and_who_leads(
    operator: Operator, place: Place, database: Database
):
    clock = SystemClock()
    shipper = Shipper(database)
    shipping = asyncio.create_task(shipper.run())
    async with place.open_directly() as broker, asyncio.timeout(60):
        log = WorkLog(broker, Metrics(), lambda: clock.now().timestamp())
        heartbeat = Heartbeat(
            database,
            place.desk,
            [QUEUE],
            started_at=clock.now(),
            shipper=shipper,
            work=log.report,
            serves=True,
            state=lambda: {"event_queues": 3},
        )
        while shipper.lag_seconds is None:
            await asyncio.wait([shipping], timeout=0.01)
        await _hold_one(log, heartbeat, operator)
        shipping.cancel()
        with suppress(asyncio.CancelledError):
            await shipping
        await heartbeat.report()
        status = json.loads((await operator.run("status", "--port", "1", "--json")).stdout)
        assert [process["leads"] for process in status["processes"]] == [False]
        assert status["shards"] == [{"shard": 0, "leader": None, "lag_seconds": None}]
        text = (await operator.run("status", "--port", "1")).stdout
        assert "no leader" in text


async def _hold_one(log: JobBroker, heartbeat: Heartbeat, operator: Operator) -> None:
    """While a job of the year 2001 is in hand, all processes know."""
    await log.publish(OutgoingJob(queue=QUEUE, body=b"{}", asked_at=1_000_000_000))
    async with log.consume(QUEUE, prefetch=1) as deliveries:
        delivery = await anext(deliveries)
        await heartbeat.report()
        status = json.loads((await operator.run("status", "--port", "1", "--json")).stdout)
        [process] = status["processes"]
        assert (process["leads"], process["serves"], process["queues"]) == (True, True, [QUEUE])
        assert process["seen_seconds"] < 20
        assert process["state"] == {"event_queues": 3}
        [shard] = status["shards"]
        assert shard["leader"] == f"{process['host']}, process {process['pid']}"
        assert shard["lag_seconds"] < 20
        queue = next(one for one in status["queues"] if one["queue"] == QUEUE)
        assert (queue["in_hand"], queue["workers"]) == (1, 1)
        assert queue["oldest_seconds"] > 700_000_000
        text = (await operator.run("status", "--port", "1")).stdout
        assert f"serves, ships, {QUEUE}" in text
        assert re.search(rf"^{QUEUE} +0 +1 ", text, re.MULTILINE)
        await delivery.ack()
    await heartbeat.report()
    status = json.loads((await operator.run("status", "--port", "1", "--json")).stdout)
    queue = next(one for one in status["queues"] if one["queue"] == QUEUE)
    assert (queue["attempts"], queue["retried"]) == (1, 0)


@pytest.mark.asyncio
async def test_the_age_of_what_waits_is_bounded_by_what_was_seen(place: Place, database: Database):
    async with database.connection() as connection:
        await workers.saw_empty(connection, [QUEUE])
        known = (await workers.queues_at_work(connection))[QUEUE]
    assert known.oldest_seconds(is_waiting=False) == 0
    assert 0 <= known.oldest_seconds(is_waiting=True) < 30
    async with place.open_directly() as broker:
        await broker.publish(OutgoingJob(queue=QUEUE, body=b"{}"))
    stats = next(one for one in await place.desk.stats([QUEUE]) if one.queue == QUEUE)
    assert (stats.waiting, stats.oldest_seconds < 30) == (1, True)
