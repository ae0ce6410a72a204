"""Notify the shipper of commits, in whichever process it runs."""

import asyncio
from collections.abc import Callable
from typing import Final

from server.messaging.event_bus import EventBus, Hint
from storage.ids import Position, RealmId

NO_REALM: Final = RealmId(0)
"""Reserved realm id of hints for the shipper."""
REST_SECONDS: Final = 0.05
"""Minimum interval of notifications: the shipper pauses as long between two batches."""


class ShipperNotifier:
    """Notify this process at each commit, and others at most once in REST_SECONDS."""

    def __init__(self) -> None:
        self._bus: EventBus | None = None
        self._listener: Callable[[], None] | None = None
        self._is_resting = False
        self._is_pending = False

    def connect(self, bus: EventBus) -> None:
        """Notify other processes over this bus."""
        self._bus = bus

    async def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` at each notification: this process has the shipper, or a standby."""
        self._listener = listener
        if self._bus is not None:
            await self._bus.follow(NO_REALM)

    def on_notification(self) -> None:
        """Handle a notification, from this process or another."""
        if self._listener is not None:
            self._listener()

    def notify(self) -> None:
        """Report a commit of this process."""
        self.on_notification()
        if self._is_resting:
            self._is_pending = True
        elif self._bus is not None:
            self._publish(self._bus)

    def _publish(self, bus: EventBus) -> None:
        self._is_resting = True
        self._is_pending = False
        bus.publish(Hint(NO_REALM, 0, Position(0), Position(0)))
        asyncio.get_running_loop().call_later(REST_SECONDS, self._end_rest, bus)

    def _end_rest(self, bus: EventBus) -> None:
        self._is_resting = False
        if self._is_pending:
            self._publish(bus)
