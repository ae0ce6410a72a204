"""Jobs that were lost with the broker's data are shipped again, and done once."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from queue_processors import account_emails
from queue_processors.shipper import Shipper, into_table, through
from server.domain.account_news import Deactivated
from server.domain.clock import SystemClock
from server.jobs import AccountEmail, BlobRemoval, DeferredWork, Job, enqueue
from server.mail.smtp import open_smtp_mailer
from server.messaging.job_broker import JobBroker
from server.messaging.job_topology import dead_letter_queue_of, lanes_of
from server.messaging.rabbitmq_jobs import Publisher
from server.writer import WriteTx
from storage.database import Database
from testkit.factories import Make, new_realm
from testkit.services.job_brokers import Place
from testkit.services.mail_server import listening
from testkit.stage import Stage
from tests.processors.test_operators import Operator
from tests.processors.test_shipper import cursor_of

pytestmark = pytest.mark.asyncio

QUEUES = (AccountEmail.queue, BlobRemoval.queue, DeferredWork.queue)


@pytest.fixture
def operator(place: Place, database_url: str, request: pytest.FixtureRequest) -> Operator:
    settings = {"DATABASE_URL": database_url}
    if place.kind == "rabbitmq":
        settings["AMQP_URL"] = request.getfixturevalue("amqp_url")
    return Operator(settings)


async def ask(stage: Stage, *jobs: Job) -> None:
    async def action(tx: WriteTx) -> None:
        for job in jobs:
            enqueue(tx, job)

    await stage.writers.of(jobs[0].realm_id).write(action)


async def ship(place: Place, database: Database, broker: JobBroker, make: Make) -> None:
    """Ship everything for the first time."""
    ship = into_table if place.kind == "postgres" else through(broker)
    task = asyncio.create_task(Shipper(database, ship).run())
    async with database.connection() as connection:
        clock = await connection.value(
            "SELECT position FROM clocks_now(ARRAY[%(realm_id)s::bigint])", realm_id=make.realm_id
        )
    async with asyncio.timeout(60):
        while True:
            with suppress(AssertionError):
                if (await cursor_of(database, make.realm_id)).position >= clock:
                    break
            await asyncio.sleep(0.05)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def lose(place: Place, request: pytest.FixtureRequest) -> None:
    """Let the broker lose its data."""
    if place.kind == "postgres":
        async with place.database.connection() as connection:
            await connection.execute("TRUNCATE jobs")
        return
    publisher = await Publisher.open(request.getfixturevalue("amqp_url"), "test")
    for queue in QUEUES:
        for name in (*lanes_of(queue), dead_letter_queue_of(queue)):
            deleted = publisher.link.request(publisher.link.channel.queue_delete, queue=name)
            await publisher.link.answered(deleted)
    await publisher.link.close()


async def keys(broker: JobBroker, queue: str, count: int) -> set[str]:
    """The keys of the jobs in the queue, which are then done."""
    found: set[str] = set()
    async with broker.consume(queue, prefetch=5) as deliveries, asyncio.timeout(60):
        while len(found) < count:
            delivery = await anext(deliveries)
            found.add(delivery.key)
            await delivery.ack()
    return found


def removal(make: Make, number: int) -> BlobRemoval:
    return BlobRemoval(realm_id=make.realm_id, keys=(f"gone-{number}",))


async def test_jobs_that_the_broker_lost_are_shipped_again(
    stage: Stage,
    make: Make,
    database: Database,
    place: Place,
    operator: Operator,
    request: pytest.FixtureRequest,
):
    """By time for all organizations, by position for one, by queue; and cursors stay."""
    async with database.connection() as connection:
        other = await new_realm(connection)
    await ask(stage, removal(make, 1))
    await ask(stage, removal(make, 2), DeferredWork.of(make.realm_id, "step", {}))
    await ask(stage, removal(other, 3))
    async with place.open_directly() as broker:
        await ship(place, database, broker, make)
        await ship(place, database, broker, other)
        cursor = await cursor_of(database, make.realm_id)
        await lose(place, request)
        since = (SystemClock().now() - timedelta(minutes=1)).isoformat()
        said = await operator.queues("reship", "--since", since)
        assert said.splitlines() == [
            "blob_removals: 3 jobs",
            "deferred_work: 1 job",
            "Shipped 4 jobs of 2 organizations again.",
        ]
        assert await cursor_of(database, make.realm_id) == cursor
    async with place.open_directly() as broker:
        mine = {f"{make.realm_id}:{number}" for number in (1, 2)}
        assert await keys(broker, BlobRemoval.queue, 3) == mine | {f"{other.realm_id}:1"}
        assert await keys(broker, DeferredWork.queue, 1) == {f"{make.realm_id}:3"}
    async with database.connection() as connection:
        subdomain = await connection.value(
            "SELECT subdomain FROM realms WHERE realm_id = %(id)s", id=make.realm_id
        )
    narrow = ("--from", "2", "--realm", subdomain, "--queue", BlobRemoval.queue)
    assert "Shipped 1 job of 1 organization again." in await operator.queues("reship", *narrow)
    async with place.open_directly() as broker:
        assert await keys(broker, BlobRemoval.queue, 1) == {f"{make.realm_id}:2"}


async def test_shipping_a_range_twice_mails_once(
    stage: Stage,
    make: Make,
    server,
    database: Database,
    place: Place,
    operator: Operator,
    request: pytest.FixtureRequest,
):
    """A mail that was lost leaves once, one that has left not again."""
    news = Deactivated(comment="")
    mails = [
        AccountEmail(
            realm_id=make.realm_id, address=f"{name}@example.com", full_name=name, news=news
        )
        for name in ("ann", "bob")
    ]
    await ask(stage, *mails)
    async with place.open_directly() as broker:
        await ship(place, database, broker, make)
        await lose(place, request)
    async with (
        place.open_directly() as broker,
        listening() as sink,
        open_smtp_mailer(sink.server()) as mailer,
    ):
        app = replace(server.app, mailer=mailer)
        working = asyncio.create_task(account_emails.PROCESSOR.run(app, broker))
        for _ in range(3):
            await operator.queues("reship", "--from", "1")
            await _until_done(place)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        assert sorted(mail["To"].addresses[0].username for mail in sink.mails) == ["ann", "bob"]


async def _until_done(place: Place) -> None:
    async with asyncio.timeout(60):
        while True:
            [row, *_] = await place.desk.stats([AccountEmail.queue])
            if row.waiting == 0 and row.in_hand == 0:
                break
            await asyncio.sleep(0.1)
    await asyncio.sleep(0.3)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Say from where on: --since TIME or --from POSITION, one of them."),
        (("--since", "2026-01-01", "--from", "1"), "Say from where on"),
        (("--since", "yesterday"), "'yesterday' is no time: write it like"),
        (("--since", "2019-01-01T00:00Z"), "The log is kept from "),
        (("--since", "2999-01-01"), "is still to come."),
        (("--from", "1", "--queue", "nonsense"), "There is no queue nonsense. There are: "),
        (("--from", "1", "--realm", "nowhere"), "There is no organization at the subdomain"),
        (("--from", "1"), "The organization's log is kept from position 2 on: what is older is"),
    ],
)
async def test_what_cannot_be_shipped_is_refused_in_a_sentence(
    arguments, sentence, stage: Stage, make: Make, database: Database, operator: Operator
):
    await ask(stage, removal(make, 1))
    await ask(stage, removal(make, 2))
    async with database.connection() as connection:
        await connection.execute(
            "DELETE FROM event_log WHERE realm_id = %(id)s AND position = 1", id=make.realm_id
        )
    done = await operator.run("queues", "reship", *arguments)
    assert done.exit_code == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.output
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)
async def test_a_broker_that_is_away_is_named(
    stage: Stage, make: Make, database: Database, place: Place, database_url: str
):
    await ask(stage, removal(make, 1))
    async with place.open_directly() as broker:
        await ship(place, database, broker, make)
    operator = Operator(
        {"DATABASE_URL": database_url, "AMQP_URL": "amqp://guest:guest@127.0.0.1:1/"}
    )
    done = await operator.run("queues", "reship", "--from", "1")
    assert done.exit_code == 1
    assert "The broker does not answer" in done.stderr
