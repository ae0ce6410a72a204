"""Exchange between processes which database is the primary."""

from contextlib import suppress
from typing import Final

import msgspec

from server.messaging.event_bus import EventBus
from storage.connector import Connector
from storage.ids import RealmId
from storage.lineage import Lineage

NO_REALM: Final = RealmId(-1)
"""Reserved realm id of messages about lineages."""


class LineageRelay:
    """Publish the newest known lineage, and learn newer ones from other processes.

    Tolerates lost messages: a process publishes its lineage whenever it reconnects, and processes
    with a newer one reply.
    """

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._bus: EventBus | None = None
        connector.on_newer = self.publish

    async def connect(self, bus: EventBus) -> None:
        """Publish to this bus, and subscribe to it."""
        self._bus = bus
        await bus.follow(NO_REALM)
        self.publish()

    def publish(self) -> None:
        """Publish the newest known lineage."""
        if self._bus is None or self._connector.seen is None:
            return
        body = msgspec.json.encode(self._connector.seen)
        self._bus.publish_ephemeral(NO_REALM, body)

    def on_lineage(self, body: bytes) -> None:
        """Handle the lineage that another process has published."""
        with suppress(msgspec.DecodeError):  # from a newer release
            news = msgspec.json.decode(body, type=Lineage)
            if not self._connector.learn(news) and news.is_older_than(self._connector.seen):
                self.publish()
