"""Tells the other processes which database leads, and hears it from them."""

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from server.messaging.event_bus import EventBus
from storage.connector import Connector
from storage.ids import RealmId
from storage.lineage import Lineage

NO_REALM: Final = RealmId(-1)
"""What is published for this realm that is none is news of lineages."""


class LineageRelay:
    """Publishes the newest lineage that this process knows of, and learns newer ones.

    News that is lost is repaired: a process publishes what it knows whenever it can be heard anew,
    and is answered by those that know better.
    """

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._bus: EventBus | None = None
        self._sending: set[asyncio.Task[None]] = set()
        connector.on_newer = self.publish

    async def connect(self, bus: EventBus) -> None:
        """Publish to this bus from now on, and hear what others publish there."""
        self._bus = bus
        await bus.follow(NO_REALM)
        self.publish()

    def publish(self) -> None:
        """Tell the others what this process knows."""
        if self._bus is None or self._connector.seen is None:
            return
        body = msgspec.json.encode(self._connector.seen)
        task = asyncio.ensure_future(self._bus.publish_ephemeral(NO_REALM, body))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def heard(self, body: bytes) -> None:
        """Another process has published what it knows."""
        with suppress(msgspec.DecodeError):  # of a release to come
            news = msgspec.json.decode(body, type=Lineage)
            if not self._connector.learn(news) and news.is_older_than(self._connector.seen):
                self.publish()
