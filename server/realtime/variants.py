"""A log entry in memory, encoded once for each kind of client."""

from typing import Any, NamedTuple

import msgspec

from server.domain.addresses import RealmAddress
from server.domain.narrow import QueueReader
from server.events import catalogue
from server.events.base import (
    MAX_WIRE_EVENTS,
    Audience,
    ClientView,
    Event,
    LogEntry,
    decode_audience,
)
from server.events.log import Tick
from server.realtime.audience import LiveUser, flags_of
from server.realtime.queue import EventQueue, WireEvent, with_id
from server.telemetry import traces
from storage.ids import Position, UserId

_BLANK = Tick()
_OVERHEAD_BYTES = 600


class Masking(NamedTuple):
    """Users in an event that its reader may not see."""

    strangers: frozenset[UserId]
    address: RealmAddress


def masking_for(event: Event, user: LiveUser, position: Position) -> Masking | None:
    """Return the users to mask in an event at this position; None, as for most readers, if none."""
    if user.contacts is None:
        return None
    strangers = user.strangers(event.shows(), position)
    return Masking(strangers, user.contacts.address) if strangers else None


def masked(event: Event, masking: Masking | None) -> Event:
    return event if masking is None else event.masked(masking.strangers, masking.address)


class TailEntry:
    """A log entry: its event, its audience, and its encodings so far."""

    __slots__ = ("_encodings", "audience", "event", "first", "position", "size", "span")

    def __init__(self, entry: LogEntry) -> None:
        self.position: Position = entry.position
        self.first: Position = entry.first
        self.audience: Audience = decode_audience(entry.audience)
        self.event: Event = (
            _BLANK if entry.body is None else catalogue.decode(entry.kind, entry.body)
        )
        self.size = _OVERHEAD_BYTES + 2 * len(entry.body or b"")
        self._encodings: dict[tuple[Any, ...], list[bytes]] = {}
        self.span: traces.Span | None = None
        """Its application in this process, if the request of the write is traced."""
        if self.audience.traceparent and self.event.wire_type:
            self.span = traces.continued("apply entry", self.audience.traceparent, kind=entry.kind)

    def blank(self) -> None:
        """Drop the body, after its message was deleted."""
        self.event = _BLANK
        self._encodings.clear()

    def encoded(
        self, view: ClientView, *, with_secrets: bool = True, masking: Masking | None = None
    ) -> list[bytes]:
        """Return the wire events for such clients, each without its opening brace.

        Events that have flags come without their closing brace too.
        """
        event = self.event
        if not with_secrets:
            reduced = event.without_secrets()
            if reduced is None:
                return []
            with_secrets, event = reduced is event, reduced
        key: tuple[Any, ...] = (with_secrets, *[getattr(view, name) for name in event.varies_by])
        if masking is not None:
            key = (*key, masking.strangers)
        encodings = self._encodings.get(key)
        if encodings is None:
            event = masked(event, masking)
            wire = event.wire(self.position, view) if event.wire_type else ()
            assert len(wire) <= MAX_WIRE_EVENTS, "larger work is split into entries"
            end = -1 if event.has_flags else None
            encodings = [msgspec.json.encode(each)[1:end] for each in wire]
            self._encodings[key] = encodings
        return encodings

    def wanted_by(self, queue: EventQueue, user: LiveUser) -> bool:
        """Return whether the queue is registered for such events, regardless of the audience."""
        if not queue.listens_to(self.event.wire_type):
            return False
        if not queue.knows_secrets and self.event.without_secrets() is None:
            return False
        if queue.narrow is None:
            return True
        shown = masked(self.event, masking_for(self.event, user, self.position))
        return queue.narrow.admits(shown, QueueReader(user.user_id, self._flags(user)))

    def for_queue(self, queue: EventQueue, user: LiveUser, *, after_k: int = -1) -> list[WireEvent]:
        """Return the queue's events from this entry, without those up to `after_k`."""
        if user.contacts is None:
            encoded = self.encoded(queue.view, with_secrets=queue.knows_secrets)
        else:
            masking = masking_for(self.event, user, self.position)
            encoded = self.encoded(queue.view, with_secrets=queue.knows_secrets, masking=masking)
        if self.event.has_flags:
            encoded = [each + self._personal(queue, user) for each in encoded]
        first = queue.id_at(self.position, 0)
        return [with_id(first + k, each) for k, each in enumerate(encoded) if k > after_k]

    def _personal(self, queue: EventQueue, user: LiveUser) -> bytes:
        audience = self.audience
        ending = b',"flags":' + msgspec.json.encode(self._flags(user))
        if audience.local_queue_id == queue.queue_id and audience.local_user_id == queue.user_id:
            ending += b',"local_message_id":' + msgspec.json.encode(audience.local_id)
        return ending + b"}"

    def _flags(self, user: LiveUser) -> list[str]:
        return flags_of(self.event, self.audience, user, self.position)
