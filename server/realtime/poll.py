"""Long polls: from user, queue and last event id to the events of the response."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Final, TypeVar

import msgspec
from typing_extensions import override

from server.domain.errors import BadEventQueueError
from server.realtime.follower import RealmFollower
from server.realtime.queue import (
    FIRST_EPHEMERAL_K,
    MAX_EVENTS,
    EventQueue,
    WireEvent,
    with_id,
)
from server.realtime.queues import Realtime
from server.realtime.variants import TailEntry
from server.telemetry import traces
from storage.ids import Position, QueueId, RealmId, UserId

HEARTBEAT_SECONDS: Final = 30.0
"""Minimum time before a heartbeat."""
HEARTBEAT_PERIOD_SECONDS: Final = 25.0
"""Within this time more the heartbeat comes: home routers forget a silent connection after a
minute. Heartbeats of a queue are a multiple of it apart, so that clients that began to wait in the
same instant get theirs, and poll again, at different times."""
NO_IDS_LEFT_SECONDS: Final = 0.05
"""Interval of checks for the empty entry that provides new event ids."""
MAX_BYTES: Final = 1024 * 1024
MAX_SCANNED: Final = 20_000
ENTRIES_PER_STEP: Final = 100
"""Entries that a poll examines or encodes before other tasks run."""
_HEARTBEAT: Final = b'"type":"heartbeat"}'


class WaitingPoll(ABC):
    """A poll that waits for an event of its queue, or for a heartbeat.

    It ends without events if the queue has ended, is polled by another request or process, or the
    server stops. It is small, since there may be thousands. Subclasses implement `deliver_events`.
    """

    __slots__ = ("_asked_id", "_is_over", "_realtime", "due", "examined", "follower", "queue")

    def __init__(
        self, realtime: Realtime, follower: RealmFollower, queue: EventQueue, asked_id: int
    ) -> None:
        self._realtime = realtime
        self.follower = follower
        self.queue = queue
        self.due = 0
        self._wait(asked_id)

    @abstractmethod
    def deliver_events(self, events: list[WireEvent]) -> None:
        """Receive the response: at most once, and not before the current callback returns."""

    def wake(self, events: list[WireEvent], position: Position, span: traces.Span | None) -> None:
        """Called by the queue, once: end the wait."""
        self._realtime.deadlines.clear(self)
        answered = _finished(self._realtime, self.queue, self._asked_id, events, position)
        answer = partial(self._answer, answered)
        self._realtime.scheduler.add(answer if span is None else partial(_traced, span, answer))

    def begin_again(self, asked_id: int) -> list[WireEvent] | None:
        """As `begin`, for the poll that follows this one, which has been answered.

        Return its events if there are any; if there are none, wait, and return an empty list.
        Return None, without an effect, if it cannot be begun from what is in memory.
        """
        follower, queue = self.follower, self.queue
        cursor, k = queue.cursor_of(asked_id)
        is_served = follower.queues.get(queue.queue_id) is queue and queue.waiter is None
        if not is_served or asked_id < queue.last_id or cursor > follower.position:
            return None
        start, after_k = _start(queue, cursor, k)
        events: list[WireEvent] = []
        if start < follower.position:
            are_few = follower.position - start <= ENTRIES_PER_STEP
            if not are_few or not follower.tail.holds_after(start):
                return None
            events, start = follower.collect(
                queue, follower.tail.after(start), after_k=after_k, limit=MAX_EVENTS
            )
        queue.reader = None
        queue.last_id = asked_id
        events = _answered(follower, queue, events, start)
        if not events and start == follower.position:
            self._wait(asked_id)
            return events
        return _finished(self._realtime, queue, asked_id, events, start)

    def _wait(self, asked_id: int) -> None:
        self._asked_id = asked_id
        self._is_over = False
        self.examined = self.follower.position
        until = seconds_until_heartbeat(self.queue.queue_id, self._realtime.clock.monotonic())
        self._realtime.deadlines.set(self, until)
        self.queue.waiter = self
        self.queue.idle_since = 0.0

    def give_up(self) -> None:
        """The client has disconnected: end the wait without a response."""
        self._is_over = True
        self._realtime.deadlines.clear(self)
        if self.queue.waiter is self:
            self.queue.waiter = None
            self.queue.idle_since = self._realtime.clock.monotonic()

    def expired(self) -> None:
        """Answer with a heartbeat as soon as there is an event id for it."""
        if self.queue.waiter is not self:
            return
        if self.queue.next_ephemeral_id(self.follower.position) is None:
            self._realtime.need_position(self.follower.realm_id)
            asyncio.get_running_loop().call_later(NO_IDS_LEFT_SECONDS, self.expired)
            return
        self.follower.release(self.queue)

    def _answer(self, events: list[WireEvent]) -> None:
        if not self._is_over:
            self._is_over = True
            self.deliver_events(events)


def seconds_until_heartbeat(queue_id: QueueId, now: float) -> float:
    """Return how long a poll of the queue waits without events from now on.

    `now` is of a monotonic clock. A queue that stays quiet gets a heartbeat every 50 seconds.
    """
    phase = hash(queue_id) % HEARTBEAT_PERIOD_SECONDS
    return HEARTBEAT_SECONDS + (phase - now - HEARTBEAT_SECONDS) % HEARTBEAT_PERIOD_SECONDS


def _traced(span: traces.Span, answer: Callable[[], None]) -> None:
    with traces.answering(span):
        answer()


WaitingPollT = TypeVar("WaitingPollT", bound=WaitingPoll)


async def begin(
    realtime: Realtime,
    wait: Callable[[Realtime, RealmFollower, EventQueue, int], WaitingPollT],
    *,
    realm_id: RealmId,
    user_id: UserId,
    queue_id: QueueId,
    last_event_id: int | None,
    may_know_secrets: bool = True,
    dont_block: bool = False,
    reader: object = None,
) -> list[WireEvent] | WaitingPollT:
    """Return the queue's events after `last_event_id` in order, or the wait for the next one.

    Writes nothing to the database. A poll that waits already on this queue is released with a
    heartbeat, and from then on the queue's reader is this one's (server/realtime/stream.py).
    Raises BadEventQueueError for a queue that has ended, is not this user's, never gave out such
    an id, or was registered by a key that reaches secrets where the caller's does not.
    """
    follower, queue = await realtime.queue(realm_id, user_id, queue_id)
    if queue.knows_secrets and not may_know_secrets:
        raise BadEventQueueError(queue_id)
    asked_id = queue.last_id if last_event_id is None else last_event_id
    cursor, k = queue.cursor_of(asked_id)
    if cursor > follower.position and not await realtime.catch_up(follower, cursor):
        # An id that was never given out belongs to another history: the client starts anew.
        raise BadEventQueueError(queue_id)
    follower.release(queue)
    queue.reader = reader
    if asked_id >= queue.last_id:
        queue.last_id = asked_id
    else:
        # An earlier response was lost: its events are collected again.
        queue.scanned = cursor
    events, reached = await _ready_events(follower, queue, cursor, k)
    if not events and reached == follower.position:
        if dont_block:
            return []
        # The queue may have ended, or moved to another process, while the log was read.
        if not realtime.stopping and follower.queues.get(queue_id) is queue:
            follower.release(queue)  # a newer poll may be waiting already
            return wait(realtime, follower, queue, asked_id)
    return _finished(realtime, queue, asked_id, events, reached)


async def poll(
    realtime: Realtime,
    *,
    realm_id: RealmId,
    user_id: UserId,
    queue_id: QueueId,
    last_event_id: int | None,
    may_know_secrets: bool = True,
    dont_block: bool = False,
    reader: object = None,
) -> list[WireEvent]:
    """As `begin`, and wait for the response."""
    begun = await begin(
        realtime,
        _AwaitedPoll,
        realm_id=realm_id,
        user_id=user_id,
        queue_id=queue_id,
        last_event_id=last_event_id,
        may_know_secrets=may_know_secrets,
        dont_block=dont_block,
        reader=reader,
    )
    if not isinstance(begun, _AwaitedPoll):
        return begun
    try:
        return await begun.events
    finally:
        begun.give_up()


class _AwaitedPoll(WaitingPoll):
    """A poll whose response a task awaits."""

    __slots__ = ("events",)

    def __init__(
        self, realtime: Realtime, follower: RealmFollower, queue: EventQueue, asked_id: int
    ) -> None:
        super().__init__(realtime, follower, queue, asked_id)
        loop = asyncio.get_running_loop()
        self.events: asyncio.Future[list[WireEvent]] = loop.create_future()

    @override
    def deliver_events(self, events: list[WireEvent]) -> None:
        if not self.events.done():  # the task may have been cancelled just now
            self.events.set_result(events)


def is_heartbeat(body: bytes) -> bool:
    return body.endswith(_HEARTBEAT)


def answer(queue_id: QueueId, events: list[WireEvent]) -> bytes:
    """Return the body of the response to a poll."""
    return b'{"result":"success","msg":"","events":[%b],"queue_id":%b}' % (
        b",".join([event for _, event in events]),
        msgspec.json.encode(queue_id),
    )


async def _ready_events(
    follower: RealmFollower, queue: EventQueue, cursor: Position, k: int
) -> tuple[list[WireEvent], Position]:
    """Collect the available events, and the position that they cover.

    There is no await between the last check and the return, so no entry is missed.
    """
    if queue.user_id not in follower.users.by_id:
        return [], cursor  # it moved to another process meanwhile
    start, after_k = _start(queue, cursor, k)
    events: list[WireEvent] = []
    scanned = 0
    while start < follower.position and scanned < MAX_SCANNED and len(events) < MAX_EVENTS:
        if scanned:
            await asyncio.sleep(0)  # let other tasks run
        chunk = await _next_entries(follower, start)
        if not chunk or follower.queues.get(queue.queue_id) is not queue:
            return events, start
        found, start = follower.collect(
            queue, chunk, after_k=after_k, limit=MAX_EVENTS - len(events), poll=traces.current()
        )
        events.extend(found)
        after_k = -1
        scanned += len(chunk)
    return _answered(follower, queue, events, start), start


def _start(queue: EventQueue, cursor: Position, k: int) -> tuple[Position, int]:
    """Return the position after which to collect, and the k after which within its first entry."""
    # A response may have ended inside an entry of several events: start with that one.
    start = Position(cursor - 1) if k < FIRST_EPHEMERAL_K - 1 and cursor > queue.base else cursor
    after_k = k if start < cursor else -1
    if queue.scanned > cursor and after_k < 0:
        start = queue.scanned
    return start, after_k


def _answered(
    follower: RealmFollower, queue: EventQueue, events: list[WireEvent], reached: Position
) -> list[WireEvent]:
    """Return the events that fit into one response, with the ephemeral ones that are pending."""
    if not events:
        queue.scanned = reached
    answered = _within_bytes(events)
    if len(answered) == len(events) and reached == follower.position:
        answered.extend(queue.take_pending(answered, reached))
    return answered


async def _next_entries(follower: RealmFollower, start: Position) -> list[TailEntry]:
    """Return the next entries, at most ENTRIES_PER_STEP; empty if there are none."""
    if follower.tail.holds_after(start):
        return list(islice(follower.tail.after(start), ENTRIES_PER_STEP))
    # A page may hold entries that this process has not applied yet.
    read = islice(await follower.log_pages.after(start), ENTRIES_PER_STEP)
    return [entry for entry in read if entry.position <= follower.position]


def _within_bytes(events: list[WireEvent]) -> list[WireEvent]:
    """Return the events that fit into one response, at least one."""
    total = 0
    for index, (_, body) in enumerate(events):
        total += len(body)
        if total > MAX_BYTES and index:
            return events[:index]
    return events


def _heartbeat(queue: EventQueue, asked_id: int, reached: Position) -> list[WireEvent]:
    """A heartbeat, which also advances the client's cursor to the position that the poll covers.

    Not further: not to events of other polls, nor to entries applied after this one was released.
    Empty if the position has no event ids left: the next position is being appended then.
    """
    event_id = queue.ephemeral_id_after(asked_id, reached)
    return [] if event_id is None else [with_id(event_id, _HEARTBEAT)]


def _finished(
    realtime: Realtime,
    queue: EventQueue,
    asked_id: int,
    events: list[WireEvent],
    reached: Position,
) -> list[WireEvent]:
    """Return the events of the response: a heartbeat if there are none."""
    events = events or _heartbeat(queue, asked_id, reached)
    queue.idle_since = realtime.clock.monotonic()
    queue.last_id = max(queue.last_id, events[-1][0]) if events else queue.last_id
    return events
