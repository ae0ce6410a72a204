"""What processes tell each other and no log keeps: in pieces that every bus carries."""

from typing import Any, cast

import msgspec
import pytest
from structlog.testing import capture_logs

from server.domain.clock import SystemClock
from server.events.base import Audience
from server.messaging.event_bus import check_ephemeral
from server.realm_cache import RealmCaches
from server.realtime import bus_messages
from server.realtime.queues import Realtime
from storage.ids import ChannelId, QueueId, RealmId, UserId

pytestmark = pytest.mark.asyncio

REALM = RealmId(1)


class Bus:
    """One that keeps what is published."""

    carries_entries = False

    def __init__(self) -> None:
        self.message: list[Any] = []

    def publish_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        assert realm_id == REALM
        check_ephemeral(body)
        self.message.append(bus_messages.decode(body))


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
def realtime(bus) -> Realtime:
    nowhere = cast("Any", None)
    clock = SystemClock()
    realtime = Realtime(nowhere, RealmCaches(nowhere, clock), clock)
    realtime._bus = cast("Any", bus)
    return realtime


async def test_what_waited_for_a_queue_is_handed_over_in_pieces(realtime, bus):
    bodies = tuple(b'"type":"typing","n":%d,"x":"%b"}' % (n, b"x" * 500) for n in range(64))
    realtime._publish_message(REALM, bus_messages.QueueHandedOver(QueueId("q"), bodies))
    assert sum(len(each.bodies) for each in bus.message) == 64
    assert tuple(body for each in bus.message for body in each.bodies) == bodies
    assert {each.queue_id for each in bus.message} == {"q"}


async def test_very_many_are_told_in_pieces(realtime, bus):
    users = tuple(UserId(1_000_000 + number) for number in range(3_000))
    told = bus_messages.EphemeralEvent("typing/direct", Audience(users=users), msgspec.Raw(b"{}"))
    realtime._publish_message(REALM, told)
    assert sum(len(each.audience.users) for each in bus.message) == 3_000
    assert tuple(user for each in bus.message for user in each.audience.users) == users


@pytest.mark.parametrize(
    "audience",
    [Audience(users=(UserId(1),)), Audience(channel_id=ChannelId(1), users=(UserId(1), UserId(2)))],
)
async def test_what_cannot_be_told_in_pieces_is_said_in_the_log(realtime, bus, audience):
    large = msgspec.Raw(b'"%b"' % (b"x" * 8_000))
    with capture_logs() as logs:
        realtime._publish_message(
            REALM, bus_messages.EphemeralEvent("typing/direct", audience, large)
        )
    assert bus.message == []
    assert [log["kind"] for log in logs] == ["typing/direct"]
