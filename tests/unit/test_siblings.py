"""Datagrams between sibling processes, and the event bus that uses them."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from server.messaging.event_bus import Hint
from server.messaging.sibling_bus import MAX_CARGO_BYTES, SiblingBus
from server.runtime.siblings import (
    MAX_DATAGRAM_BYTES,
    Sibling,
    SiblingChannels,
    sibling_processes,
)
from storage.ids import Position, RealmId

pytestmark = pytest.mark.asyncio

KIND = ord("k")
REALM = RealmId(7)
WITHIN_SECONDS = 10


class Listener:
    """Keeps the hints that it hears."""

    def __init__(self) -> None:
        self.hints: list[Hint] = []

    def on_hint(self, hint: Hint) -> None:
        self.hints.append(hint)

    def on_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        raise AssertionError(f"ephemeral events go over the other bus: {realm_id}, {body!r}")

    def on_gap(self) -> None:
        raise AssertionError("siblings know of no gaps")


class UpperBus:
    """A bus that only records what it is asked to carry."""

    is_connected = True

    def __init__(self, *, carries_entries: bool) -> None:
        self.carries_entries = carries_entries
        self.published: list[Hint] = []
        self.ephemerals: list[bytes] = []
        self.followed: set[RealmId] = set()

    def publish(self, hint: Hint) -> None:
        self.published.append(hint)

    def publish_ephemeral(self, _realm_id: RealmId, body: bytes) -> None:
        self.ephemerals.append(body)

    async def follow(self, realm_id: RealmId) -> None:
        self.followed.add(realm_id)

    def unfollow(self, realm_id: RealmId) -> None:
        self.followed.discard(realm_id)


@pytest.fixture
def siblings() -> Iterator[Sequence[Sibling]]:
    with sibling_processes(3) as made:
        yield made


@pytest_asyncio.fixture
async def channels(siblings: Sequence[Sibling]) -> AsyncIterator[list[SiblingChannels]]:
    """The channels of each, of which the first one does not listen."""
    made = [SiblingChannels(each) for each in siblings]
    with ExitStack() as stack:
        for each in made[1:]:
            stack.enter_context(each.listening())
        yield made


async def passed() -> None:
    """Wait for what was sent in this process."""
    for _ in range(5):
        await asyncio.sleep(0.01)


async def test_a_datagram_reaches_the_handler_of_its_kind(channels: list[SiblingChannels]):
    heard: list[tuple[int, int, bytes]] = []

    def handle(number: int, sender: int, body: bytes) -> None:
        heard.append((number, sender, body))

    for each in channels[1:]:
        each.handle(KIND, partial(handle, each.number))
    assert channels[0].send(1, KIND, b"one")
    channels[0].broadcast(KIND, b"all")
    await passed()
    assert sorted(heard) == [(1, 0, b"all"), (1, 0, b"one"), (2, 0, b"all")]


async def test_a_handler_that_fails_does_not_stop_the_next(channels: list[SiblingChannels]):
    heard: list[bytes] = []

    def handle(_sender: int, body: bytes) -> None:
        if body == b"bad":
            raise ZeroDivisionError
        heard.append(body)

    channels[1].handle(KIND, handle)
    with capture_logs() as logs:
        for kind, body in ((KIND, b"bad"), (ord("?"), b"unknown"), (KIND, b"good")):
            assert channels[0].send(1, kind, body)
        await passed()
    assert heard == [b"good"]
    assert [log["event"] for log in logs] == ["siblings.datagram_failed"] * 2


async def test_an_inbox_takes_what_fits_and_keeps_it(channels: list[SiblingChannels]):
    """That of a process that starts again, or is frozen."""
    assert not channels[1].send(0, KIND, b"x" * MAX_DATAGRAM_BYTES)
    sent = 0
    while channels[1].send(0, KIND, b"%d" % sent):
        sent += 1
        assert sent < 1_000_000
    heard: list[bytes] = []
    channels[0].handle(KIND, lambda _, body: heard.append(body))
    with channels[0].listening():
        async with asyncio.timeout(WITHIN_SECONDS):
            while len(heard) < sent:  # noqa: ASYNC110 - it is the loop that reads
                await asyncio.sleep(0.01)
    assert heard == [b"%d" % number for number in range(sent)]


async def test_a_description_leads_to_the_same_channels(siblings: Sequence[Sibling]):
    first = siblings[0]
    first.share.record(5)
    own = SiblingChannels(first)
    descriptors = {each: os.dup(each) for each in first.descriptors}
    counts, number = first.share.counts, first.number
    described = " ".join(
        [
            f"{descriptors[counts.descriptor]},{counts.processes},{number}",
            str(descriptors[first.inbox.fileno()]),
            *(f"{n}:{descriptors[box.fileno()]}" for n, box in first.outboxes.items()),
        ]
    )
    assert first.describe().count(" ") == described.count(" ")
    inherited = Sibling.parse(described)
    heard: list[bytes] = []
    channels = SiblingChannels(inherited)
    channels.handle(KIND, lambda _, body: heard.append(body))
    assert channels.number == own.number == 0
    assert channels.accepting() == [0]
    with channels.listening():
        assert SiblingChannels(siblings[2]).send(0, KIND, b"hello")
        await passed()
    assert heard == [b"hello"]
    for each in (inherited.inbox, *inherited.outboxes.values()):
        each.close()
    inherited.share.counts.close()
    os.close(descriptors[counts.descriptor])


def bus_of(channels: SiblingChannels, *, carries: bool) -> tuple[SiblingBus, UpperBus, Listener]:
    upper, heard = UpperBus(carries_entries=carries), Listener()
    return SiblingBus(upper, channels, heard), upper, heard


@pytest.mark.parametrize("carries", [False, True])
async def test_entries_go_to_siblings_and_hints_to_all(
    channels: list[SiblingChannels],
    carries: bool,  # noqa: FBT001
):
    bus, upper, _ = bus_of(channels[0], carries=carries)
    other, upper_of_other, heard = bus_of(channels[1], carries=carries)
    _, _, unfollowing = bus_of(channels[2], carries=carries)
    await other.follow(REALM)
    full = Hint(REALM, 1, Position(3), Position(4), (b"three", b"four"))
    bus.publish(full)
    bus.publish(Hint(REALM, 1, Position(5), Position(5)))
    large = Hint(REALM, 1, Position(6), Position(6), (b"x" * (MAX_CARGO_BYTES + 1),))
    bus.publish(large)
    bus.publish_ephemeral(REALM, b"typing")
    await passed()
    assert heard.hints == [full]
    assert unfollowing.hints == []
    assert [hint.entries != () for hint in upper.published] == [carries, False, carries]
    assert [hint.last for hint in upper.published] == [4, 5, 6]
    assert upper.ephemerals == [b"typing"]
    assert upper_of_other.followed == {REALM}
    other.unfollow(REALM)
    bus.publish(full)
    await passed()
    assert heard.hints == [full]
    assert upper_of_other.followed == set()
