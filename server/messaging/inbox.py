"""Filters and dispatches the deliveries of every bus."""

from collections.abc import Callable

import structlog

from server.messaging.event_bus import BusListener, Hint
from storage.ids import RealmId

logger = structlog.get_logger(__name__)


class Inbox:
    """The followed realms, and a listener that cannot end the bus by its mistakes.

    A listener that raises has a bug: it is logged, and the listener is as if the delivery had been
    lost, which its reader survives by design.
    """

    def __init__(self, listener: BusListener) -> None:
        self._listener = listener
        self.followed: set[RealmId] = set()

    def hint(self, hint: Hint) -> None:
        if hint.realm_id in self.followed:
            self._notify(lambda: self._listener.on_hint(hint))

    def ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        if realm_id in self.followed:
            self._notify(lambda: self._listener.on_ephemeral(realm_id, body))

    def gap(self) -> None:
        self._notify(self._listener.on_gap)

    def _notify(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            logger.exception("event_bus.listener_failed")
