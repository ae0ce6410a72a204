"""Record the last delivery to each incoming webhook bot, for those who set it up."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from server.domain.actor import Actor
from server.domain.clock import Clock
from storage import webhook_deliveries
from storage.database import Database, DatabaseUnavailableError, StatementTimeoutError
from storage.ids import RealmId, UserId
from storage.webhook_deliveries import DeliveryRow

logger = structlog.get_logger(__name__)

INTERVAL: Final = timedelta(seconds=1)
"""Minimum interval between two writes about one bot with the same outcome."""
MAX_BOTS: Final = 10_000


class LastDeliveries:
    """Writes of this process, at most one a second for each bot and outcome."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._written: dict[tuple[RealmId, UserId], tuple[str, str, datetime]] = {}

    async def note(self, actor: Actor, service: str, outcome: str) -> None:
        """Record a delivery to the bot. A database that is away does not fail the delivery."""
        key, now = (actor.realm_id, actor.user_id), self._clock.now()
        known = self._written.get(key)
        if known is not None and known[:2] == (service, outcome) and now - known[2] < INTERVAL:
            return
        if len(self._written) >= MAX_BOTS:
            self._written.clear()
        self._written[key] = (service, outcome, now)
        try:
            async with self._database.connection() as connection:
                row = DeliveryRow(service, outcome, now)
                await webhook_deliveries.note(connection, actor.realm_id, actor.user_id, row)
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            logger.warning("webhook.delivery_unrecorded", error=str(error))
