"""What happens between two steps of a poll: nothing may be passed over."""

import asyncio

import msgspec
import pytest
import pytest_asyncio

from server.domain.addresses import Addresses
from server.events.base import LogEntry, to_users
from server.events.subscriptions import ChannelName, SubscriptionsRemoved
from server.realm_cache import RealmCache
from server.realtime.audience import LiveUser
from server.realtime.follower import RealmFollower
from server.realtime.queue import K_BITS
from storage.ids import ChannelId, Position, RealmId, UserId
from storage.subscription_spans import SpanRow
from testkit.clients.api import PATIENCE_SECONDS
from testkit.clock import StoppedClock

pytestmark = pytest.mark.asyncio

BOB = UserId(7)
CHANNEL = ChannelId(3)


@pytest_asyncio.fixture
async def clients(server, make, people, connect):
    await make.channel("general", subscribers=people)
    return [await connect(server, make.realm_id, person) for person in people]


async def say(client, content):
    body = await client.post("/messages", type="stream", to='"general"', topic="t", content=content)
    return body["id"]


async def waiting_poll(client, queue):
    poll = asyncio.create_task(
        client.get("/events", queue_id=queue.queue_id, last_event_id=queue.last_event_id)
    )
    while not client.server.app.realtime.waiting():  # noqa: ASYNC110 - the server has no reason to tell
        await asyncio.sleep(0.01)
    return poll


async def test_a_released_poll_does_not_pass_over_what_comes_next(clients, make):
    """Its heartbeat stands for the moment of its release, not for that of its answer."""
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    await say(alice, "one")
    await queue.poll()
    poll = await waiting_poll(bob, queue)
    follower = await bob.server.app.realtime.follower(make.realm_id)
    live, released_at = follower.queues[queue.queue_id], follower.position

    follower.drop_queue(live)
    tick = LogEntry(Position(released_at + 1), "tick", b"", b"{}")
    follower.offer(follower.epoch, [tick])

    [heartbeat] = (await poll)["events"]
    assert heartbeat["type"] == "heartbeat"
    assert live.base + (heartbeat["id"] >> K_BITS) == released_at


async def test_a_released_poll_does_not_pass_over_what_another_was_given(clients):
    """The client may get the older answer and lose the newer one."""
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    older = await waiting_poll(bob, queue)
    newer = asyncio.create_task(
        bob.get("/events", queue_id=queue.queue_id, last_event_id=queue.last_event_id)
    )
    [heartbeat] = (await asyncio.wait_for(older, PATIENCE_SECONDS))["events"]
    await say(alice, "one")
    [message] = (await newer)["events"]
    assert heartbeat["id"] < message["id"]
    again = await bob.get("/events", queue_id=queue.queue_id, last_event_id=heartbeat["id"])
    assert [event["id"] for event in again["events"]] == [message["id"]]


async def test_of_many_polls_at_once_all_are_answered(clients):
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    asked = {"queue_id": queue.queue_id, "last_event_id": queue.last_event_id}
    polls = [asyncio.create_task(bob.get("/events", **asked)) for _ in range(5)]
    done, _ = await asyncio.wait(
        polls, timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    assert done
    await say(alice, "one")
    answers = await asyncio.wait_for(asyncio.gather(*polls), PATIENCE_SECONDS)
    kinds = sorted(event["type"] for answer in answers for event in answer["events"])
    assert kinds == ["heartbeat"] * 4 + ["message"]


@pytest.fixture
def follower(database) -> RealmFollower:
    """One that has come to position 10."""
    realm_cache = RealmCache(RealmId(1), database, StoppedClock(), Addresses())
    return RealmFollower(realm_cache, database, epoch=1, position=Position(10))


def bob_leaves(position: int) -> LogEntry:
    event = SubscriptionsRemoved(
        user_ids=[BOB], subscriptions=[ChannelName(stream_id=CHANNEL, name="general")]
    )
    body = msgspec.json.encode(event)
    return LogEntry(Position(position), event.kind, to_users(BOB).encode(), body)


async def test_changes_while_a_user_is_adopted_are_not_forgotten(follower):
    """Their subscriptions were read at 10; the follower passes 11 before they are there."""
    bob = LiveUser(BOB, 400, [SpanRow(BOB, CHANNEL, Position(1), None)])
    follower.offer(1, [bob_leaves(11)])
    assert follower.add_user(bob, read_at=Position(10))
    assert bob.received(CHANNEL, Position(11))
    assert not bob.received(CHANNEL, Position(12))


async def test_a_user_is_adopted_anew_if_changes_are_not_known(follower):
    follower.offer(1, [bob_leaves(11)])
    assert not follower.add_user(LiveUser(BOB, 400, []), read_at=Position(9))
    assert BOB not in follower.users.by_id
