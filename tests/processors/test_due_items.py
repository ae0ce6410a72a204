"""The due-item runner sends each thing once, in order, with other runners and after crashes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from queue_processors.due_items import MAX_CONCURRENT_REALMS, DueItemRunner, in_turns
from queue_processors.main import TIMERS
from queue_processors.processor import MAX_ATTEMPTS
from queue_processors.scheduled_messages import KIND
from queue_processors.timer_kind import DueItemKind
from server.actions.realm_services import RealmServices
from server.telemetry.metrics import Metrics
from server.transactions import KeepsChangingError
from storage import timers as storage_timers
from storage.database import (
    Database,
    DatabaseUnavailableError,
    StatementTimeoutError,
    open_database,
)
from storage.ids import RealmId
from storage.users import UserRow
from testkit.clock import StoppedClock
from testkit.factories import Make, new_realm
from testkit.faults.proxy import CuttingProxy, proxy_to
from testkit.stage import Stage
from testkit.timers import HOUR, Timers, due_item_runner_on

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS = 60
FAMILY: ContextVar[set[asyncio.Task[Any]] | None] = ContextVar("FAMILY", default=None)


@dataclass(frozen=True, slots=True)
class House:
    """A realm in which people put things off, and what became of them."""

    make: Make
    timers: Timers
    alice: UserRow
    bob: UserRow
    bot: UserRow

    async def messages(self) -> list[tuple[int, str]]:
        """(sender, content) of what was sent, in order."""
        return await self.make.connection.tuples(
            "SELECT sender_id, content FROM messages WHERE realm_id = %(r)s ORDER BY id",
            r=self.make.realm_id,
        )

    async def log(self) -> list[str]:
        """The kinds of the log's entries, in order."""
        return await self.make.connection.values(
            "SELECT kind FROM event_log WHERE realm_id = %(r)s ORDER BY position",
            r=self.make.realm_id,
        )

    async def waiting(self) -> int:
        count: int = await self.make.connection.value(
            """
            SELECT (SELECT count(*) FROM scheduled_messages
                     WHERE realm_id = %(r)s AND failure IS NULL)
                 + (SELECT count(*) FROM reminders WHERE realm_id = %(r)s AND failure IS NULL)
            """,
            r=self.make.realm_id,
        )
        return count


async def house_in(stage: Stage, make: Make) -> House:
    return House(
        make,
        Timers(stage, make.realm_id),
        await make.user("Alice"),
        await make.user("Bob"),
        await make.notification_bot(),
    )


@pytest_asyncio.fixture
async def house(stage: Stage, make: Make) -> House:
    return await house_in(stage, make)


@asynccontextmanager
async def another_process(url: str, clock: StoppedClock) -> AsyncIterator[Stage]:
    """A stage with connections and caches of its own."""
    async with open_database(url, min_size=1, max_size=4) as database:
        stage = Stage(database, clock)
        yield stage
        await stage.writers.drain()


# -- order, and the others


async def test_all_that_is_overdue_is_sent_in_order(house: House, stage: Stage):
    channel = await house.make.channel("plans", subscribers=[house.alice, house.bob])
    expected = []
    for number in range(120):
        seconds = 60 + 7 * (number % 12)
        row = (house.alice, house.bob)[number % 2]
        topic = "even" if number % 3 else "odd"
        content = f"{topic} {seconds:04} {number:04}"
        await house.timers.schedule(row, channel.channel_id, content, topic=topic, seconds=seconds)
        expected.append(content)
    assert await house.timers.pass_by(30) == 0
    assert await house.messages() == []
    # The server was away for a day.
    assert await house.timers.pass_by(86_400) == 120
    sent = [content for _, content in await house.messages()]
    assert sorted(sent) == sorted(expected)
    for topic in ("even", "odd"):
        own = [content for content in sent if content.startswith(topic)]
        assert own == sorted(own)


async def test_what_is_due_is_sent_and_what_is_not_waits(house: House):
    await house.timers.schedule(house.alice, [house.bob.user_id], "one", seconds=10)
    await house.timers.remind(house.alice, None, "two", seconds=11)
    await house.timers.schedule(house.alice, [house.bob.user_id], "three", seconds=12)
    for count in (1, 2, 3):
        assert await house.timers.pass_by(10 if count == 1 else 1) == 1
        assert len(await house.messages()) == count
    assert await house.waiting() == 0


async def test_two_to_one_place_are_sent_one_after_the_other():
    rows = [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("c", 1), ("b", 2)]
    assert in_turns(rows, lambda row: row[0]) == [
        [("a", 1), ("b", 1), ("c", 1)],
        [("a", 2), ("b", 2)],
        [("a", 3)],
    ]


async def test_workers_at_once_send_each_message_once(
    house: House, stage: Stage, database_url: str
):
    channel = await house.make.channel("plans", subscribers=[house.alice, house.bob])
    for number in range(40):
        topic = f"topic {number % 4}"
        await house.timers.schedule(house.alice, channel.channel_id, f"{number:03}", topic=topic)
        await house.timers.remind(house.bob, None, f"note {number:03}")
    stage.clock.advance(timedelta(seconds=HOUR))
    async with AsyncExitStack() as stack:
        stages = [
            await stack.enter_async_context(another_process(database_url, stage.clock))
            for _ in range(3)
        ]
        keepers = [due_item_runner_on(each) for each in stages]
        done = 0
        async with asyncio.timeout(PATIENCE_SECONDS):
            while done < 80:
                done += sum(await asyncio.gather(*(keeper.catch_up() for keeper in keepers)))
    assert done == 80
    contents = [
        content for sender, content in await house.messages() if sender != house.bot.user_id
    ]
    assert sorted(contents) == [f"{number:03}" for number in range(40)]
    assert len(await house.messages()) == 80
    log = await house.log()
    assert log.count("scheduled_messages/remove") == log.count("reminders/remove") == 40


async def test_realms_do_not_wait_for_each_other(house: House, stage: Stage, database: Database):
    """One realm stands still, and is not looked at until it goes on; the other has its turn."""
    async with database.connection() as connection:
        other = await house_in(stage, await new_realm(connection))
        await other.timers.schedule(other.alice, [other.bob.user_id], "quick", seconds=5)
        await house.timers.schedule(house.alice, [house.bob.user_id], "held", seconds=1)
        stage.clock.advance(timedelta(seconds=HOUR))
        async with database.transaction() as holding:
            await holding.execute(
                "SELECT FROM realm_clock WHERE realm_id = %(r)s FOR UPDATE",
                r=house.make.realm_id,
            )
            watched = Watched()
            keeper = keeper_of(stage, watched.kind)
            work = asyncio.create_task(keeper.run())
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await other.waiting() or len(watched.windows) < 3:
                    pass
            assert await house.messages() == []
            window = watched.windows[-1]
            assert window.busy == [house.make.realm_id]
            assert window.realms == MAX_CONCURRENT_REALMS - 1
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await house.waiting():
                pass
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        assert await house.messages() == [(house.alice.user_id, "held")]
        assert await other.messages() == [(other.alice.user_id, "quick")]


class Watched:
    """Scheduled messages, and for which of them the runner has looked."""

    def __init__(self) -> None:
        self.windows: list[storage_timers.DueWindow] = []
        self.kind = replace(KIND, due=self._due)

    async def _due(self, connection: Any, window: storage_timers.DueWindow) -> Any:
        self.windows.append(window)
        return await KIND.due(connection, window)


# -- dying


@dataclass(frozen=True, slots=True)
class Case:
    """Something that is due, and what it leaves in the log when it is dealt with."""

    name: str
    entries: tuple[str, ...]

    async def put_off(self, house: House) -> None:
        if self.name == "reminder":
            await house.timers.remind(house.alice, None, "note")
        elif self.name == "sent":
            await house.timers.schedule(house.alice, [house.bob.user_id])
        else:
            number = len(await house.log())
            channel = await house.make.channel(f"gone {number}", subscribers=[house.alice])
            await house.timers.schedule(house.alice, channel.channel_id)
            await house.make.connection.execute(
                "DELETE FROM channels WHERE realm_id = %(r)s AND channel_id = %(c)s",
                r=house.make.realm_id,
                c=channel.channel_id,
            )


CASES = (
    Case("sent", ("message", "scheduled_messages/remove")),
    Case("failed", ("message", "scheduled_messages/update")),
    Case("reminder", ("message", "reminders/remove")),
)
STEP = 431
"""Bytes between one death and the next."""


@pytest.mark.parametrize("fate", ["dies", "goes on"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_process_that_is_cut_off_at_any_byte_loses_and_doubles_nothing(
    house: House, stage: Stage, database_url: str, case: Case, fate: str
):
    """Cut off between any two steps: of what it asks only so many bytes arrive."""
    port = int(psycopg.conninfo.conninfo_to_dict(database_url).get("port") or 5432)
    cuts = 0
    for number in range(1, 200):
        await case.put_off(house)
        stage.clock.advance(timedelta(seconds=HOUR))
        before = await house.log()
        async with proxy_to(port) as proxy:
            cuts_now = await deliver_through(
                proxy, stage.clock, database_url, number * STEP, goes_on=fate == "goes on"
            )
        await until_done(house, due_item_runner_on(stage))
        assert (await house.log())[len(before) :] == [*case.entries]
        cuts += cuts_now
        if not cuts_now:
            break
    else:
        pytest.fail("it never got through")
    assert cuts > 5


async def deliver_through(
    proxy: CuttingProxy, clock: StoppedClock, url: str, allowance: int, *, goes_on: bool
) -> int:
    """Let a process deliver until it has asked so many bytes; how often it was cut off."""
    behind = psycopg.conninfo.make_conninfo(url, host="127.0.0.1", port=proxy.port)
    async with open_database(behind, min_size=1, max_size=1) as database:
        process = Stage(database, clock)
        async with database.connection() as connection:
            await storage_timers.now(connection)  # so that the connection is open
        for link in proxy.links:
            link.near.allowance = allowance
        with family() as tasks:
            work = asyncio.create_task(due_item_runner_on(process).catch_up())
        if not goes_on:
            cut = asyncio.create_task(until_cut(proxy))
            await asyncio.wait([work, cut], return_when=asyncio.FIRST_COMPLETED)
            cut.cancel()
            if proxy.cuts:
                await die(proxy, tasks)
        await asyncio.gather(work, return_exceptions=True)
        if goes_on:
            await process.writers.drain()
    return proxy.cuts


@contextmanager
def family() -> Iterator[set[asyncio.Task[Any]]]:
    """The tasks that are begun within, and those that they begin, and so on: no others."""
    begun: set[asyncio.Task[Any]] = set()

    def begin(
        loop: asyncio.AbstractEventLoop, work: Any, context: Context | None = None
    ) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, context=context)
        if (own := FAMILY.get()) is not None:
            own.add(task)
        return task

    asyncio.get_running_loop().set_task_factory(begin)
    token = FAMILY.set(begun)
    try:
        yield begun
    finally:
        FAMILY.reset(token)


async def until_cut(proxy: CuttingProxy) -> None:
    while not proxy.cuts:  # noqa: ASYNC110 - in the same turn, before the process has noticed
        await asyncio.sleep(0)


async def die(proxy: CuttingProxy, tasks: set[asyncio.Task[Any]]) -> None:
    """Nothing of the process goes on, and it reaches no server."""
    for task in list(tasks):
        task.cancel()
    await proxy.close()


async def until_done(house: House, keeper: DueItemRunner) -> None:
    """Another process takes over; what the dead one holds it gets once that has ended."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await house.waiting():
            await keeper.catch_up()


async def test_a_pass_that_is_stopped_at_any_moment_loses_and_doubles_nothing(
    house: House, stage: Stage
):
    for turns in range(0, 120, 3):
        await house.timers.schedule(house.alice, [house.bob.user_id], f"{turns}")
        stage.clock.advance(timedelta(seconds=HOUR))
        work = asyncio.create_task(due_item_runner_on(stage).catch_up())
        for _ in range(turns):
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await until_done(house, due_item_runner_on(stage))
        await stage.writers.drain()
    sent = [content for _, content in await house.messages()]
    assert sent == [str(turns) for turns in range(0, 120, 3)]


# -- our own errors


class Failing:
    """Scheduled messages, of which one always ends in this error."""

    def __init__(self, content: str, error: type[Exception] = ZeroDivisionError) -> None:
        self.tries = 0
        self._content = content
        self._error = error
        self.kind = replace(KIND, deliver=self._deliver)

    async def _deliver(self, services: Any, row: Any) -> bool:
        if row.content != self._content:
            return await KIND.deliver(services, row)
        self.tries += 1
        raise self._error


async def test_what_ends_in_an_error_is_left_alone_a_while_and_harms_no_other(
    house: House, stage: Stage
):
    await house.timers.schedule(house.alice, [house.bob.user_id], "bad", seconds=1)
    await house.timers.schedule(house.alice, [house.bob.user_id], "good", seconds=2)
    stage.clock.advance(timedelta(seconds=HOUR))
    failing = Failing("bad")
    keeper = keeper_of(stage, failing.kind, pause_seconds=1e6)
    assert await keeper.catch_up() == 1
    assert await keeper.catch_up() == 0
    assert failing.tries == 1
    assert [content for _, content in await house.messages()] == ["good"]
    assert await house.waiting() == 1
    # Another process is not as unlucky.
    assert await due_item_runner_on(stage).catch_up() == 1


@pytest.mark.parametrize(
    "error", [StatementTimeoutError, KeepsChangingError, DatabaseUnavailableError]
)
async def test_what_cannot_be_sent_for_now_is_not_overtaken(
    house: House, stage: Stage, error: type[Exception]
):
    bob = house.bob.user_id
    await house.timers.schedule(house.alice, [bob], "first", seconds=1)
    await house.timers.schedule(house.alice, [bob], "second", seconds=2)
    await house.timers.schedule(house.alice, [house.alice.user_id], "elsewhere", seconds=3)
    stage.clock.advance(timedelta(seconds=HOUR))
    keeper = keeper_of(stage, Failing("first", error).kind, pause_seconds=1e6)
    assert await keeper.catch_up() == 1
    await house.timers.schedule(house.bob, [house.alice.user_id], "third", seconds=1)
    stage.clock.advance(timedelta(seconds=HOUR))
    assert await keeper.catch_up() == 0
    assert await due_item_runner_on(stage).catch_up() == 3
    sent = [content for _, content in await house.messages()]
    assert sent == ["elsewhere", "first", "second", "third"]


@pytest.mark.parametrize("what", ["dropped", "put off", "sent elsewhere", "sent by another"])
async def test_what_goes_first_holds_nothing_up_once_it_does_not(
    house: House, stage: Stage, what: str
):
    bob = house.bob.user_id
    first = await house.timers.schedule(house.alice, [bob], "first", seconds=1)
    await house.timers.schedule(house.alice, [bob], "second", seconds=2)
    stage.clock.advance(timedelta(seconds=HOUR))
    keeper = keeper_of(stage, Failing("first", KeepsChangingError).kind, pause_seconds=1e6)
    assert await keeper.catch_up() == 0
    match what:
        case "dropped":
            await house.timers.drop(house.alice, first)
        case "put off":
            await house.timers.edit(house.alice, first, seconds=HOUR)
        case "sent elsewhere":
            await house.timers.edit(house.alice, first, to=[house.alice.user_id])
        case _:
            await due_item_runner_on(stage).catch_up()
    await keeper.catch_up()
    assert [content for _, content in await house.messages()][-1] == "second"
    assert len(await house.messages()) == (2 if what == "sent by another" else 1)


async def test_what_has_changed_is_tried_at_once(house: House, stage: Stage):
    first = await house.timers.schedule(house.alice, [house.bob.user_id], "first")
    stage.clock.advance(timedelta(seconds=HOUR))
    keeper = keeper_of(stage, Failing("first", KeepsChangingError).kind, pause_seconds=1e6)
    assert await keeper.catch_up() == 0
    await house.timers.edit(house.alice, first, content="better")
    assert await keeper.catch_up() == 1
    assert [content for _, content in await house.messages()] == ["better"]


async def test_a_realm_that_cannot_be_worked_off_is_tried_again(house: House, stage: Stage):
    await house.timers.schedule(house.alice, [house.bob.user_id], "later")
    stage.clock.advance(timedelta(seconds=HOUR))
    benches = iter([None, stage.realm_services(house.make.realm_id)])

    def services(_: RealmId) -> RealmServices:
        found = next(benches)
        if found is None:
            raise ZeroDivisionError
        return found

    keeper = DueItemRunner(stage.database, services, Metrics(), [KIND], now=stage.clock.now)
    assert await keeper.catch_up() == 0
    assert await keeper.catch_up() == 1


async def test_while_the_database_is_away_nothing_is_given_up(house: House, stage: Stage):
    await house.timers.schedule(house.alice, [house.bob.user_id], "kept")
    stage.clock.advance(timedelta(seconds=HOUR))
    failing = Failing("kept", DatabaseUnavailableError)
    keeper = keeper_of(stage, failing.kind)
    for _ in range(MAX_ATTEMPTS + 1):
        await keeper.catch_up()
    assert failing.tries == MAX_ATTEMPTS + 1
    assert await house.waiting() == 1


@pytest.mark.parametrize("error", [ZeroDivisionError, StatementTimeoutError, KeepsChangingError])
async def test_what_always_ends_in_an_error_fails_at_last(
    house: House, stage: Stage, error: type[Exception]
):
    await house.timers.schedule(house.alice, [house.bob.user_id], "bad")
    stage.clock.advance(timedelta(seconds=HOUR))
    failing = Failing("bad", error)
    keeper = keeper_of(stage, failing.kind)
    for _ in range(MAX_ATTEMPTS):
        assert await house.waiting() == 1
        await keeper.catch_up()
    assert await house.waiting() == 0
    assert failing.tries == MAX_ATTEMPTS
    [(sender_id, notice)] = await house.messages()
    assert sender_id == house.bot.user_id
    assert "could not send" in notice


def keeper_of(stage: Stage, kind: DueItemKind[Any], *, pause_seconds: float = 0) -> DueItemRunner:
    return DueItemRunner(
        stage.database,
        stage.realm_services,
        Metrics(),
        [kind],
        now=stage.clock.now,
        pause_after=lambda _: pause_seconds,
    )


# -- when it looks


async def test_the_time_is_that_of_the_database(house: House, stage: Stage, database: Database):
    """Whatever the clock of this process says."""
    async with database.connection() as connection:
        now = await storage_timers.now(connection)
    stage.clock.step(now - stage.clock.now() - timedelta(days=1))
    await house.timers.schedule(house.alice, [house.bob.user_id], "past", seconds=86_000)
    await house.timers.schedule(house.alice, [house.bob.user_id], "to come", seconds=90_000)
    keeper = DueItemRunner(stage.database, stage.realm_services, Metrics(), TIMERS)
    assert await keeper.catch_up() == 1
    assert [content for _, content in await house.messages()] == ["past"]


async def test_the_next_time_is_known_in_all_realms(house: House, database: Database):
    start = house.timers.stage.clock.now()
    await house.timers.schedule(house.alice, [house.bob.user_id], seconds=50)
    await house.timers.remind(house.alice, None, "note", seconds=70)
    async with database.connection() as connection:
        found = [
            await storage_timers.next_at(connection, after=start + timedelta(seconds=seconds))
            for seconds in (0, 49, 50, 69, 70)
        ]
    times = [None if at is None else (at - start).total_seconds() for at in found]
    assert times == [50, 50, 70, 70, None]


async def test_a_runner_sends_what_comes_due(house: House, stage: Stage):
    moment = stage.clock.now()

    def now() -> datetime:
        return moment.astimezone(UTC)

    await house.timers.schedule(house.alice, [house.bob.user_id], "one", seconds=10)
    await house.timers.remind(house.alice, None, "two", seconds=20)
    keeper = DueItemRunner(stage.database, stage.realm_services, Metrics(), TIMERS, now=now)
    work = asyncio.create_task(keeper.run())
    try:
        for left in (1, 0):
            moment += timedelta(seconds=10)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await house.waiting() != left:
                    pass
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    assert len(await house.messages()) == 2
