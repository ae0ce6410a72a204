"""Tells the shipper, wherever it runs, that something was committed."""

import asyncio
from collections.abc import Callable
from typing import Final

from server.messaging.event_bus import EventBus, Hint
from storage.ids import Position, RealmId

NO_REALM: Final = RealmId(0)
"""Hints of this realm that is none are for the shipper."""
REST_SECONDS: Final = 0.05
"""The shipper rests as long between two rounds: more often would tell it nothing."""


class ShipperNotifier:
    """Rings here at each commit, and elsewhere at most once in REST_SECONDS."""

    def __init__(self) -> None:
        self._bus: EventBus | None = None
        self._listener: Callable[[], None] | None = None
        self._is_resting = False
        self._rung_meanwhile = False
        self._sending: asyncio.Task[None] | None = None

    def connect(self, bus: EventBus) -> None:
        """Let other processes hear it over this bus."""
        self._bus = bus

    async def listen(self, listener: Callable[[], None]) -> None:
        """Call this at each ring from now on: here is the shipper, or one that stands by."""
        self._listener = listener
        if self._bus is not None:
            await self._bus.follow(NO_REALM)

    def heard(self) -> None:
        """It rang in another process."""
        if self._listener is not None:
            self._listener()

    def ring(self) -> None:
        """Something was committed in this process."""
        self.heard()
        if self._is_resting:
            self._rung_meanwhile = True
        elif self._bus is not None:
            self._tell(self._bus)

    def _tell(self, bus: EventBus) -> None:
        self._is_resting = True
        self._rung_meanwhile = False
        hint = Hint(NO_REALM, 0, Position(0), Position(0))
        self._sending = asyncio.ensure_future(bus.publish(hint))
        asyncio.get_running_loop().call_later(REST_SECONDS, self._rested, bus)

    def _rested(self, bus: EventBus) -> None:
        self._is_resting = False
        if self._rung_meanwhile:
            self._tell(bus)
