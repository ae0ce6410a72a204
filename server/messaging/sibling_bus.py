"""The event bus of several processes on one host: entries go from process to process directly."""

from typing import Final

import msgspec

from server.messaging.event_bus import BusListener, EventBus, Hint
from server.messaging.inbox import Inbox
from server.runtime.siblings import SiblingChannels
from storage.ids import RealmId

HINT: Final = ord("h")
"""The kind of these datagrams."""
MAX_CARGO_BYTES: Final = 64 * 1024
"""Larger entries are left to the other bus."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Hint)


class SiblingBus:
    """An EventBus that hands committed entries to the siblings, beside another bus.

    The siblings have them sooner than over the other bus, and need not read them from the log. The
    other bus carries ephemeral events, and hints, since it also reaches other hosts. A sibling with
    a full inbox gets the hint alone.
    """

    carries_entries = True

    def __init__(self, bus: EventBus, channels: SiblingChannels, listener: BusListener) -> None:
        self._bus = bus
        self._channels = channels
        self._inbox = Inbox(listener)
        channels.handle(HINT, self._receive)

    @property
    def is_connected(self) -> bool:
        return self._bus.is_connected

    def publish(self, hint: Hint) -> None:
        if hint.entries:
            if sum(map(len, hint.entries)) <= MAX_CARGO_BYTES:
                self._channels.broadcast(HINT, _encoder.encode(hint))
            if not self._bus.carries_entries:
                hint = Hint(hint.realm_id, hint.epoch, hint.first, hint.last)
        self._bus.publish(hint)

    def publish_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        self._bus.publish_ephemeral(realm_id, body)

    async def follow(self, realm_id: RealmId) -> None:
        self._inbox.followed.add(realm_id)
        await self._bus.follow(realm_id)

    def unfollow(self, realm_id: RealmId) -> None:
        self._inbox.followed.discard(realm_id)
        self._bus.unfollow(realm_id)

    def _receive(self, _sender: int, body: bytes) -> None:
        self._inbox.hint(_decoder.decode(body))
