"""How a realm's log is followed: in order, whatever comes first, and without holding others up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from server.domain.addresses import Addresses
from server.domain.clock import SystemClock
from server.events.base import EVERYONE, LogEntry, PositionsReserved
from server.events.log import Tick
from server.realm_cache import RealmCache
from server.realtime.follower import RealmFollower
from server.runtime.scheduler import CooperativeScheduler
from storage import event_log
from storage.ids import Position, RealmId
from testkit.clients.raw_sockets import until

pytestmark = pytest.mark.asyncio


def entry(position: int) -> LogEntry:
    return LogEntry(Position(position), "tick", EVERYONE.encode(), msgspec.json.encode(Tick()))


class Log:
    """The log in the database, and how it is read."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.at_once = 2_000
        self.reads = 0
        self.meanwhile: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[None]:
        yield None

    async def after(self, *_: Any, cursor: int, limit: int, **__: Any) -> list[Any]:
        self.reads += 1
        found = [each for each in self.entries if each.position > cursor]
        await asyncio.sleep(0)
        self.meanwhile()
        return [
            SimpleNamespace(epoch=1, **msgspec.structs.asdict(each))
            for each in found[: min(limit, self.at_once)]
        ]


@pytest.fixture
def log(monkeypatch) -> Log:
    log = Log()
    monkeypatch.setattr(event_log, "after", log.after)
    return log


@pytest.fixture
def follower(log) -> RealmFollower:
    """One that has come to position 5."""
    realm_cache = RealmCache(RealmId(1), cast("Any", log), SystemClock(), Addresses())
    return RealmFollower(
        realm_cache,
        cast("Any", log),
        epoch=1,
        position=Position(5),
        scheduler=CooperativeScheduler(turn_seconds=0),
    )


async def test_news_that_comes_while_a_gap_is_waited_for_is_looked_for(follower, log):
    log.entries = [entry(position) for position in range(6, 10)]
    follower.offer(1, [entry(7)])
    follower.offer(1, [entry(6)])
    assert follower.position == 7
    follower.notice(1, Position(9))
    await until(lambda: follower.position == 9)
    assert log.reads == 1


async def test_all_is_read_that_is_known_of_however_little_comes_at_once(follower, log):
    log.entries = [entry(position) for position in range(6, 1_006)]
    log.at_once = 100
    follower.notice(1, Position(1_005))
    await until(lambda: follower.position == 1_005)


async def test_what_the_log_does_not_have_is_not_asked_for_again_and_again(follower, log):
    log.entries = [entry(6)]
    follower.notice(1, Position(9))
    await until(lambda: follower.position == 6)
    await until(lambda: follower._fetching is None)
    assert log.reads == 2


async def test_who_has_much_to_catch_up_with_lets_others_have_their_turn(follower, log):
    log.entries = [entry(position) for position in range(6, 2_006)]
    follower.notice(1, Position(2_005))
    seen = []
    while follower.position < 2_005:
        seen.append(follower.position)
        await asyncio.sleep(0)
    assert max(after - before for before, after in pairwise(seen)) <= 500
    assert len(set(seen)) > 4


async def test_what_is_offered_while_much_is_applied_waits_for_its_place(follower, log):
    applied: list[int] = []
    tail_append = follower.tail.append

    def note(each: Any) -> None:
        applied.append(each.position)
        tail_append(each)

    follower.tail.append = note
    log.entries = [entry(position) for position in range(6, 2_006)]
    log.meanwhile = lambda: follower.offer(1, [entry(position) for position in range(2_004, 2_010)])
    follower.notice(1, Position(2_005))
    while not 1_000 < follower.position < 2_000:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0)
    follower.offer(1, [entry(follower.position + 1), entry(6), entry(2_010)])
    await until(lambda: follower.position == 2_010)
    assert applied == list(range(6, 2_011))
    await until(lambda: follower._fetching is None)
    assert not follower._ahead


async def test_a_new_epoch_ends_what_is_being_applied(follower, log):
    log.entries = [entry(position) for position in range(6, 2_006)]
    follower.notice(1, Position(2_005))
    while follower.position < 500:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0)
    follower.notice(2, Position(1_000_000))
    log.entries = []
    await until(lambda: follower._fetching is None)
    assert follower.position == 1_000_000
    assert not follower._ahead


async def test_a_gap_behind_what_is_applied_in_turns_is_looked_for(follower, log):
    log.entries = [entry(position) for position in range(6, 1_006)]
    follower.offer(1, [each for each in log.entries if each.position != 900])
    await until(lambda: follower.position == 1_005)


def reserving(position: int, count: int) -> LogEntry:
    event = PositionsReserved(count=count)
    return LogEntry(Position(position), event.kind, b"", msgspec.json.encode(event))


async def test_an_entry_stands_for_the_positions_that_it_reserves(follower, log):
    follower.offer(1, [entry(12), reserving(11, 5)])
    assert follower.position == 12
    assert log.reads == 0
    for cursor in (5, 6, 10):
        assert follower.tail.holds_after(Position(cursor))
        assert [each.position for each in follower.tail.after(Position(cursor))] == [11, 12]
    assert [each.position for each in follower.tail.after(Position(11))] == [12]
    assert not follower.tail.holds_after(Position(4))


async def test_reserved_positions_are_found_if_their_hint_is_lost(follower, log):
    log.entries = [entry(6), reserving(5_000_007, 5_000_000), entry(5_000_008)]
    follower.offer(1, [log.entries[-1]])
    await until(lambda: follower.position == 5_000_008)
    # What comes again is known.
    follower.offer(1, log.entries)
    assert follower.position == 5_000_008
    assert not follower._ahead


async def test_one_that_has_stopped_reads_nothing_any_more(follower, log):
    """The database is closed after it: a read would fail, and be logged."""
    log.entries = [entry(position) for position in range(6, 8)]
    follower.notice(1, Position(6))
    follower.stop()
    follower.notice(1, Position(7))
    await asyncio.sleep(0.05)
    assert (log.reads, follower.position) == (0, 5)
