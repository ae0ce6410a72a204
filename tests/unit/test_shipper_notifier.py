"""A commit anywhere is heard by the shipper, and a busy realm does not ring all the time."""

import asyncio

import pytest
from typing_extensions import override

from server.messaging.event_bus import Hint
from server.realtime.shipper_notifier import NO_REALM, ShipperNotifier
from storage.ids import RealmId
from testkit.services.rabbitmq import LossyBus


class Wire(LossyBus):
    """A bus that keeps what is published."""

    def __init__(self) -> None:
        self.hints: list[Hint] = []
        self.followed: set[RealmId] = set()
        self.told_again = asyncio.Event()

    @override
    def publish(self, hint: Hint) -> None:
        self.hints.append(hint)
        if len(self.hints) > 1:
            self.told_again.set()

    @override
    async def follow(self, realm_id: RealmId) -> None:
        self.followed.add(realm_id)


@pytest.mark.asyncio
async def test_each_commit_rings_here_and_elsewhere_as_often_as_it_helps():
    wire, bell, rung = Wire(), ShipperNotifier(), []
    bell.connect(wire)
    await bell.listen(lambda: rung.append(True))
    assert wire.followed == {NO_REALM}
    for _ in range(100):
        bell.notify()
    assert (len(rung), len(wire.hints)) == (100, 1)
    async with asyncio.timeout(60):
        await wire.told_again.wait()  # the last ring is not forgotten
    assert {hint.realm_id for hint in wire.hints} == {NO_REALM}


@pytest.mark.asyncio
async def test_a_bell_without_listener_or_bus_is_silent():
    bell = ShipperNotifier()
    bell.notify()
    bell.on_notification()
