"""Messages that serving processes send each other by the event bus, beside log entries."""

from collections.abc import Iterator, Sequence

import msgspec
import structlog

from server.events.base import Audience
from server.messaging.event_bus import MAX_EPHEMERAL_BYTES
from storage.ids import QueueId

logger = structlog.get_logger(__name__)


class EphemeralEvent(msgspec.Struct, frozen=True, tag="told"):
    """An event that is published once and not logged."""

    kind: str
    audience: Audience
    event: msgspec.Raw


class QueueAdopted(msgspec.Struct, frozen=True, tag="adopted"):
    """A process serves these queues from now on: others drop them."""

    queue_id: QueueId
    more: tuple[QueueId, ...] = ()


class QueueHandedOver(msgspec.Struct, frozen=True, tag="handed_over"):
    """Ephemeral events that were pending for a queue which another process serves now."""

    queue_id: QueueId
    bodies: tuple[bytes, ...]


BusMessage = EphemeralEvent | QueueAdopted | QueueHandedOver


def _halves(message: BusMessage) -> Sequence[BusMessage]:
    """Split a message in two; empty if it cannot be split."""
    if isinstance(message, QueueHandedOver) and len(message.bodies) > 1:
        middle = len(message.bodies) // 2
        parts = (message.bodies[:middle], message.bodies[middle:])
        return [QueueHandedOver(message.queue_id, part) for part in parts]
    if isinstance(message, EphemeralEvent) and len(message.audience.users) > 1:
        users, middle = message.audience.users, len(message.audience.users) // 2
        if message.audience == Audience(users=users):  # otherwise a user may be in both halves
            parts_of_users = (users[:middle], users[middle:])
            return [
                EphemeralEvent(message.kind, Audience(users=u), message.event)
                for u in parts_of_users
            ]
    return []


def encoded(message: BusMessage) -> Iterator[bytes]:
    """Yield the message in parts that the bus can carry; log what cannot be split so far."""
    body = msgspec.json.encode(message)
    if len(body) <= MAX_EPHEMERAL_BYTES:
        yield body
        return
    halves = _halves(message)
    if not halves:
        kind = message.kind if isinstance(message, EphemeralEvent) else type(message).__name__
        logger.warning("realtime.event_too_large", kind=kind, size=len(body))
    for half in halves:
        yield from encoded(half)


decode = msgspec.json.Decoder(BusMessage).decode
