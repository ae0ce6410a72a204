"""How a realm's log is followed: in order, whatever comes first, and without holding others up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from server.directory import Directory
from server.domain.addresses import Addresses
from server.domain.clock import SystemClock
from server.events.base import EVERYONE, LogEntry
from server.events.log import Tick
from server.realtime.follower import RealmFollower
from storage import event_log
from storage.ids import Position, RealmId
from tests.fixtures.sockets import until

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

    async def after(
        self, connection: Any, realm_id: RealmId, *, cursor: int, limit: int, max_bytes: int
    ) -> list[Any]:
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
    directory = Directory(RealmId(1), cast("Any", log), SystemClock(), Addresses())
    return RealmFollower(directory, cast("Any", log), epoch=1, position=Position(5))


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
