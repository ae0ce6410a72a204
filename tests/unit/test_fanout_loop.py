"""The recipients of a message are told in turns, and miss nothing that comes meanwhile."""

import asyncio
from typing import TYPE_CHECKING, cast

import msgspec
import pytest
from typing_extensions import override

from server.domain.access import MEMBER
from server.domain.addresses import Addresses
from server.domain.clock import SystemClock
from server.events.base import Audience, LogEntry
from server.events.messages import MessageSent, Sender, ShownMessage
from server.events.queue_params import QueueParams
from server.realm_cache import RealmCache
from server.realtime import poll as polls
from server.realtime.audience import LiveUser
from server.realtime.follower import RealmFollower
from server.realtime.queue import LAST_K, EventQueue, Waiter, WireEvent
from storage.ids import ChannelId, Position, QueueId, RealmId, UserId
from storage.subscription_spans import SpanRow

if TYPE_CHECKING:
    from storage.database import Database

pytestmark = pytest.mark.asyncio

CHANNEL = ChannelId(9)
PEOPLE = 1_000


class Poll(Waiter):
    """One that notes what it was answered."""

    def __init__(self, queue: EventQueue, looked: Position):
        self.examined = looked
        self.events: list[WireEvent] | None = None
        self.reached = 0
        queue.waiter = self

    @override
    def wake(self, events, position, span):
        self.events, self.reached = events, position


@pytest.fixture
def follower() -> RealmFollower:
    nowhere = cast("Database", None)  # what is told here is in memory
    realm_cache = RealmCache(RealmId(1), nowhere, SystemClock(), Addresses())
    return RealmFollower(realm_cache, nowhere, epoch=1, position=Position(10))


@pytest.fixture
def queues(follower) -> list[EventQueue]:
    """Of so many subscribers."""
    made = []
    for number in range(1, PEOPLE + 1):
        span = SpanRow(UserId(number), CHANNEL, Position(1), None)
        user = LiveUser(UserId(number), MEMBER, [span])
        follower.users.add(user)
        queue = EventQueue(QueueId(str(number)), user.user_id, Position(5), QueueParams())
        follower.users.add_queue(user, queue)
        follower.queues[queue.queue_id] = queue
        made.append(queue)
    return made


def say(follower: RealmFollower, position: int) -> None:
    sender = Sender(UserId(1), "a@example.com", "Alice", "", None, is_gravatar=True)
    shown = ShownMessage(sender=sender, client="x", timestamp=1, channel_id=CHANNEL)
    event = MessageSent(message=shown, content="hi", rendered_content="<p>hi</p>")
    audience = Audience(channel_id=CHANNEL).encode()
    follower.offer(
        1, [LogEntry(Position(position), event.kind, audience, msgspec.json.encode(event))]
    )


def positions(queue: EventQueue, poll: Poll) -> list[int]:
    return [queue.cursor_of(event_id)[0] for event_id, _ in poll.events or ()]


async def all_told(follower: RealmFollower) -> None:
    while follower.fanout.completed_up_to(follower.position) < follower.position:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_a_message_does_not_block_others_until_all_are_told(follower, queues):
    polls = [Poll(queue, Position(10)) for queue in queues]
    say(follower, 11)
    assert all(poll.events is None for poll in polls)
    await all_told(follower)
    assert all(positions(q, p) == [11] for q, p in zip(queues, polls, strict=True))


async def test_what_comes_while_others_are_told_comes_in_its_order(follower, queues):
    polls = [Poll(queue, Position(10)) for queue in queues]
    say(follower, 11)
    say(follower, 12)
    await all_told(follower)
    assert all(positions(q, p) == [11, 12] for q, p in zip(queues, polls, strict=True))
    assert {poll.reached for poll in polls} == {12}


async def test_who_asks_again_meanwhile_is_not_told_twice(follower, queues):
    say(follower, 11)
    poll = Poll(queues[-1], Position(11))
    await all_told(follower)
    assert poll.events is None


async def test_a_poll_that_is_released_meanwhile_gets_what_it_would_have_been_told(
    follower, queues
):
    poll = Poll(queues[-1], Position(10))
    say(follower, 11)
    follower.release(queues[-1])
    assert positions(queues[-1], poll) == [11]


async def test_who_leaves_after_a_message_was_sent_gets_it_still(follower, queues):
    poll = Poll(queues[-1], Position(10))
    say(follower, 11)
    follower.users.change_membership(UserId(PEOPLE), CHANNEL, Position(12), joined=False)
    await all_told(follower)
    assert positions(queues[-1], poll) == [11]


async def test_polls_wait_for_nothing_after_a_new_epoch(follower, queues):
    polls = [Poll(queue, Position(10)) for queue in queues]
    say(follower, 11)
    follower.notice(2, Position(1_000))
    assert all(poll.events == [] for poll in polls)
    assert follower.queues == {}


async def test_a_poll_that_has_much_to_read_lets_others_have_their_turn(follower, queues):
    for position in range(11, 511):
        say(follower, position)
    queue = queues[0]
    reading = asyncio.create_task(polls._ready_events(follower, queue, Position(10), LAST_K))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        turns += 1
        if turns == 3:
            say(follower, 511)
    events, reached = await reading
    assert turns > 4
    assert reached == 511
    assert [queue.cursor_of(event_id)[0] for event_id, _ in events] == list(range(11, 512))


async def test_a_poll_of_a_queue_that_ends_while_it_reads_is_told_no_more(follower, queues):
    for position in range(11, 511):
        say(follower, position)
    queue = queues[0]
    reading = asyncio.create_task(polls._ready_events(follower, queue, Position(10), LAST_K))
    await asyncio.sleep(0)
    follower.drop_queue(queue)
    events, reached = await reading
    assert reached < 510
    assert len(events) == reached - 10
