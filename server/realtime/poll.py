"""One long poll: from (user, queue, last event id) to the events to answer with."""

import asyncio
import random
from typing import Final

import msgspec

from server.domain.errors import BadEventQueueError
from server.realtime.follower import RealmFollower
from server.realtime.queue import (
    FIRST_EPHEMERAL_K,
    EventQueue,
    Waiter,
    WireEvent,
    with_id,
)
from server.realtime.queues import Realtime
from storage.ids import Position, QueueId, RealmId, UserId

HEARTBEAT_SECONDS: Final = 45.0
HEARTBEAT_JITTER_SECONDS: Final = 10.0
"""Home routers forget a silent connection after a minute."""
NO_IDS_LEFT_SECONDS: Final = 0.05
"""When to look again whether the empty entry has come that gives new event ids."""
MAX_EVENTS: Final = 1_000
MAX_BYTES: Final = 1024 * 1024
MAX_SCANNED: Final = 20_000
_HEARTBEAT: Final = b'"type":"heartbeat"}'


async def poll(
    realtime: Realtime,
    *,
    realm_id: RealmId,
    user_id: UserId,
    queue_id: QueueId,
    last_event_id: int | None,
    dont_block: bool = False,
    reader: object = None,
) -> list[WireEvent]:
    """The queue's events after `last_event_id`, in order; waits for one, or for a heartbeat.

    Writes nothing to the database. A poll that waits already on this queue is released with a
    heartbeat, and from then on the queue's reader is this one's (server/realtime/stream.py).
    Raises BadEventQueueError for a queue that has ended, is not this user's, or never
    gave out such an id.
    """
    follower, queue = await realtime.queue(realm_id, user_id, queue_id)
    asked_id = queue.last_id if last_event_id is None else last_event_id
    cursor, k = queue.cursor_of(asked_id)
    if cursor > follower.position and not await realtime.catch_up(follower, cursor):
        # An id that was never given out belongs to another history: the client starts anew.
        raise BadEventQueueError(queue_id)
    queue.release([], follower.position)
    queue.reader = reader
    if asked_id >= queue.last_id:
        queue.last_id = asked_id
    else:
        # An earlier answer was lost on its way: what it held is looked for again.
        queue.scanned = cursor
    events, reached = await _ready_events(follower, queue, cursor, k)
    if not events and reached == follower.position:
        if dont_block:
            return []
        # The queue may have ended here, or gone elsewhere, while the log was read.
        if not realtime.stopping and follower.queues.get(queue_id) is queue:
            events, reached = await _wait(realtime, follower, queue)
    events = events or _heartbeat(queue, asked_id, reached)
    queue.idle_since = realtime.clock.monotonic()
    queue.last_id = max(queue.last_id, events[-1][0]) if events else queue.last_id
    return events


def is_heartbeat(body: bytes) -> bool:
    return body.endswith(_HEARTBEAT)


def answer(queue_id: QueueId, events: list[WireEvent]) -> bytes:
    """The body of the response to a poll."""
    return b'{"result":"success","msg":"","events":[%b],"queue_id":%b}' % (
        b",".join([event for _, event in events]),
        msgspec.json.encode(queue_id),
    )


async def _ready_events(
    follower: RealmFollower, queue: EventQueue, cursor: Position, k: int
) -> tuple[list[WireEvent], Position]:
    """What there is already, and the position up to which it was looked for.

    It ends with no await between the last look and its return, so nothing slips in between.
    """
    if queue.user_id not in follower.users.by_id:
        return [], cursor  # it went elsewhere while this process caught up
    # An answer may have ended inside an entry that is several events: begin with that one.
    start = Position(cursor - 1) if k < FIRST_EPHEMERAL_K - 1 and cursor > queue.base else cursor
    after_k = k if start < cursor else -1
    if queue.scanned > cursor and after_k < 0:
        start = queue.scanned
    events: list[WireEvent] = []
    scanned = 0
    while start < follower.position and not follower.tail.holds_after(start):
        if scanned >= MAX_SCANNED or _is_full(events):
            return events, start
        # Others' reads bring what is ahead of this process, too: it has yet to apply that.
        read = await follower.past.after(start)
        chunk = [entry for entry in read if entry.position <= follower.position]
        if not chunk or queue.user_id not in follower.users.by_id:
            return events, start
        found, start = follower.collect(
            queue, chunk, after_k=after_k, limit=MAX_EVENTS - len(events)
        )
        events.extend(found)
        after_k = -1
        scanned += len(chunk)
    if start < follower.position and follower.tail.holds_after(start) and not _is_full(events):
        found, start = follower.collect(
            queue, follower.tail.after(start), after_k=after_k, limit=MAX_EVENTS - len(events)
        )
        events.extend(found)
    if not events:
        queue.scanned = start
    answered = _within_bytes(events)
    if len(answered) == len(events) and start == follower.position:
        answered.extend(_pending(queue, start, answered))
    return answered, start


def _is_full(events: list[WireEvent]) -> bool:
    return len(events) >= MAX_EVENTS


def _within_bytes(events: list[WireEvent]) -> list[WireEvent]:
    """As many of the events as one answer may hold; one at least."""
    total = 0
    for index, (_, body) in enumerate(events):
        total += len(body)
        if total > MAX_BYTES and index:
            return events[:index]
    return events


def _pending(queue: EventQueue, position: Position, before: list[WireEvent]) -> list[WireEvent]:
    """What was told once and waited for a poll, after the events before."""
    if before:
        queue.last_id = max(queue.last_id, before[-1][0])
    told = []
    while queue.pending:
        event_id = queue.next_ephemeral_id(position)
        if event_id is None:
            break
        queue.last_id = event_id
        told.append(with_id(event_id, queue.pending.pop(0)))
    return told


def _heartbeat(queue: EventQueue, asked_id: int, reached: Position) -> list[WireEvent]:
    """A sign of life, which also moves the client's cursor to what this poll has looked through.

    Never further: not to what other polls were answered, nor to what was applied after this one
    was released. Nothing if the position has no event id left: the next one is on its way then.
    """
    event_id = queue.ephemeral_id_after(asked_id, reached)
    return [] if event_id is None else [with_id(event_id, _HEARTBEAT)]


async def _wait(
    realtime: Realtime, follower: RealmFollower, queue: EventQueue
) -> tuple[list[WireEvent], Position]:
    """Wait until something is for the queue, or a heartbeat is due; and what was looked through.

    Nothing comes if the queue has ended, is polled elsewhere or anew, or the server stops.
    """
    loop = asyncio.get_running_loop()
    waiter: Waiter = loop.create_future()
    queue.release([], follower.position)  # a newer poll may have come to wait before this one
    queue.waiter = waiter
    jitter = random.uniform(0, HEARTBEAT_JITTER_SECONDS)  # noqa: S311 - spreads load, no secret
    timer = loop.call_later(HEARTBEAT_SECONDS + jitter, _beat, realtime, follower, queue, waiter)
    try:
        return await waiter
    finally:
        timer.cancel()
        if queue.waiter is waiter:
            queue.waiter = None


def _beat(realtime: Realtime, follower: RealmFollower, queue: EventQueue, waiter: Waiter) -> None:
    if queue.waiter is not waiter:
        return
    if queue.next_ephemeral_id(follower.position) is None:
        realtime.need_position(follower.realm_id)
        loop = asyncio.get_running_loop()
        loop.call_later(NO_IDS_LEFT_SECONDS, _beat, realtime, follower, queue, waiter)
        return
    queue.release([], follower.position)
