"""An event queue of a client: a cursor, and what it wants to hear. No I/O, no clock of its own."""

import asyncio

from server.domain.narrow import EventNarrow
from server.events.queue_params import QueueParams
from storage.ids import Position, QueueId, UserId

K_BITS = 10
"""Event ids are ((position - base) << K_BITS) | k."""
FIRST_EPHEMERAL_K = 512
LAST_K = (1 << K_BITS) - 1
MAX_PENDING_EPHEMERALS = 64
"""What is told once and not logged waits for the next poll of a queue; the oldest go first."""

WireEvent = tuple[int, bytes]
"""An event's id, and the event as JSON."""

Waiter = asyncio.Future[tuple[list[WireEvent], Position]]
"""A poll that waits: for events, and the position up to which it has been looked for them."""


class EventQueue:
    """A live queue: what follows from its row, and the poll that waits on it."""

    __slots__ = (
        "all_public",
        "base",
        "collected",
        "event_types",
        "idle_since",
        "last_id",
        "narrow",
        "pending",
        "queue_id",
        "reader",
        "scanned",
        "user_id",
        "view",
        "waiter",
    )

    def __init__(
        self, queue_id: QueueId, user_id: UserId, base: Position, params: QueueParams
    ) -> None:
        self.queue_id = queue_id
        self.user_id = user_id
        self.base = base
        self.view = params.view
        self.event_types = None if params.event_types is None else frozenset(params.event_types)
        self.narrow = EventNarrow.parse(params.narrow) if params.narrow else None
        self.all_public = params.all_public_channels
        self.last_id = -1
        """The highest id given out here, or acknowledged by the client."""
        self.scanned = Position(0)
        """Up to here there is nothing for somebody who has received `last_id`."""
        self.pending: list[bytes] = []
        self.collected: list[WireEvent] = []
        self.waiter: Waiter | None = None
        self.reader: object = None
        """The stream that reads the queue now; None if the newest reader was a single poll."""
        self.idle_since = 0.0

    def listens_to(self, wire_type: str) -> bool:
        return self.event_types is None or wire_type in self.event_types

    def id_at(self, position: Position, k: int) -> int:
        return ((position - self.base) << K_BITS) | k

    def cursor_of(self, last_event_id: int) -> tuple[Position, int]:
        """(position, k) that an id stands for; everything up to it has been received."""
        if last_event_id < 0:
            return self.base, LAST_K
        return Position(self.base + (last_event_id >> K_BITS)), last_event_id & LAST_K

    def next_ephemeral_id(self, position: Position) -> int | None:
        """An id for something unlogged, after all so far. None: this position has none left."""
        return self.ephemeral_id_after(self.last_id, position)

    def ephemeral_id_after(self, last_id: int, position: Position) -> int | None:
        """The same for a client that has received no more than `last_id`."""
        new = max(last_id + 1, self.id_at(position, FIRST_EPHEMERAL_K))
        return new if new <= self.id_at(position, LAST_K) else None

    def keep(self, body: bytes) -> None:
        """Keep something unlogged for the next poll."""
        self.pending.append(body)
        del self.pending[:-MAX_PENDING_EPHEMERALS]

    def release(self, events: list[WireEvent], position: Position) -> None:
        """Answer the poll that waits, if one does; it has been looked for up to the position."""
        waiter, self.waiter = self.waiter, None
        if waiter is not None and not waiter.done():
            if events:
                self.last_id = max(self.last_id, events[-1][0])
            self.scanned = position
            waiter.set_result((events, position))


def with_id(event_id: int, body: bytes) -> WireEvent:
    """The event with its id; `body` is its JSON object without the opening brace."""
    return event_id, b'{"id":%d,%b' % (event_id, body)
