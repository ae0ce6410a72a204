"""An event queue of a client: a cursor and a filter. No I/O, no clock of its own."""

from functools import lru_cache
from typing import Protocol

from server.domain.narrow import EventNarrow
from server.events.queue_params import QueueParams
from server.telemetry import traces
from storage.ids import Position, QueueId, UserId

K_BITS = 10
"""Event ids are ((position - base) << K_BITS) | k."""
FIRST_EPHEMERAL_K = 512
LAST_K = (1 << K_BITS) - 1
MAX_PENDING_EPHEMERALS = 64
"""Maximum ephemeral events that wait for the next poll of a queue; the oldest are dropped."""

MAX_EVENTS = 1_000
"""In one response."""

WireEvent = tuple[int, bytes]
"""An event's id, and the event as JSON."""


class Waiter(Protocol):
    """A waiting poll."""

    examined: Position
    """The position that had been examined when it began to wait."""

    def wake(self, events: list[WireEvent], position: Position, span: traces.Span | None) -> None:
        """Answer with these events; the log has been examined up to the position.

        `span` is that of the answer in the trace of the event, if it has one.
        """
        ...


class EventQueue:
    """A live queue: its parameters, its cursor, and the waiting poll."""

    __slots__ = (
        "all_public",
        "base",
        "event_types",
        "idle_since",
        "knows_secrets",
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
        self.event_types = _types(params.event_types)
        self.narrow = EventNarrow.parse(params.narrow) if params.narrow else None
        self.all_public = params.all_public_channels
        self.knows_secrets = params.knows_secrets
        self.last_id = -1
        """The highest id given out here, or acknowledged by the client."""
        self.scanned = Position(0)
        """Position up to which there is nothing after `last_id`."""
        self.pending: tuple[bytes, ...] = ()
        """Ephemeral events that wait for a poll."""
        self.waiter: Waiter | None = None
        self.reader: object = None
        """The stream that reads the queue; None if the newest reader was a single poll."""
        self.idle_since = 0.0
        """When its last poll ended; meaningless while one waits."""

    def listens_to(self, wire_type: str) -> bool:
        return self.event_types is None or wire_type in self.event_types

    def id_at(self, position: Position, k: int) -> int:
        return ((position - self.base) << K_BITS) | k

    def cursor_of(self, last_event_id: int) -> tuple[Position, int]:
        """(position, k) of an event id: the client has received everything up to it."""
        if last_event_id < 0:
            return self.base, LAST_K
        return Position(self.base + (last_event_id >> K_BITS)), last_event_id & LAST_K

    def next_ephemeral_id(self, position: Position) -> int | None:
        """Return the next id for an ephemeral event; None if this position has no ids left."""
        return self.ephemeral_id_after(self.last_id, position)

    def ephemeral_id_after(self, last_id: int, position: Position) -> int | None:
        """As `next_ephemeral_id`, for a client that has received no more than `last_id`."""
        new = max(last_id + 1, self.id_at(position, FIRST_EPHEMERAL_K))
        return new if new <= self.id_at(position, LAST_K) else None

    def add_pending(self, body: bytes) -> None:
        """Store an ephemeral event for the next poll."""
        self.pending = (*self.pending, body)[-MAX_PENDING_EPHEMERALS:]

    def take_pending(self, before: list[WireEvent], position: Position) -> list[WireEvent]:
        """Remove the pending ephemeral events, with ids that follow the events in `before`."""
        if before:
            self.last_id = max(self.last_id, before[-1][0])
        taken = []
        while self.pending:
            event_id = self.next_ephemeral_id(position)
            if event_id is None:
                break
            self.last_id = event_id
            taken.append(with_id(event_id, self.pending[0]))
            self.pending = self.pending[1:]
        return taken

    def release(
        self, events: list[WireEvent], position: Position, span: traces.Span | None = None
    ) -> None:
        """Answer the waiting poll, if any; the log has been examined up to the position."""
        waiter, self.waiter = self.waiter, None
        if waiter is not None:
            if events:
                self.last_id = max(self.last_id, events[-1][0])
            self.scanned = position
            waiter.wake(events, position, span)


@lru_cache(maxsize=1_000)
def _types(names: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


def with_id(event_id: int, body: bytes) -> WireEvent:
    """Return the event with its id; `body` is its JSON object without the opening brace."""
    return event_id, b'{"id":%d,%b' % (event_id, body)
