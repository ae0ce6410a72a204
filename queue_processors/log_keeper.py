"""Maintain the event log: create partitions ahead of time, drop expired rows."""

from datetime import timedelta
from typing import Final

import structlog

from queue_processors.periodic import now_and_then
from server.domain.clock import Clock
from storage import (
    command_calls,
    done_jobs,
    event_log,
    integration_messages,
    message_buttons,
    notifications,
    sends,
    shipping,
    user_activity,
    webhook_calls,
)
from storage.database import Database

logger = structlog.get_logger(__name__)

EVENT_RETENTION_DAYS: Final = 8
"""The retention of events: one day more than the longest life of an event queue."""
IDEMPOTENCY_KEY_RETENTION: Final = timedelta(hours=24)
NOTIFICATION_RETENTION: Final = timedelta(days=30)
DONE_JOB_RETENTION: Final = timedelta(days=90)
"""The retention of job keys, longer than that of a log that waits for the shipper."""
WEBHOOK_CALL_RETENTION: Final = timedelta(days=8)
"""The retention of webhook calls, longer than the retries of any job."""
INTEGRATION_MESSAGE_RETENTION: Final = timedelta(days=90)
"""The retention of what connects the messages about an alert: the longest alert that is marked."""
BUTTON_CLICK_RETENTION: Final = timedelta(hours=24)
"""The retention of clicks on buttons, by which repeated requests are detected."""
COMMAND_CALL_RETENTION: Final = timedelta(hours=1)
"""The retention of calls of slash commands. Their addresses take answers for half of it."""
ACTIVITY_RETENTION: Final = timedelta(days=365)
INTERVAL_SECONDS: Final = 3600.0


class LogKeeper:
    """Run the maintenance once an hour. Instances may run concurrently."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def run(self) -> None:
        """Run until cancelled."""
        await now_and_then(self.tidy, what="tidy the log", seconds=INTERVAL_SECONDS)

    async def tidy(self) -> list[str]:
        """Create the partitions of the coming days, and drop and return expired ones.

        A partition with entries that are still to be shipped is never dropped.
        """
        oldest = self._clock.now().date() - timedelta(days=EVENT_RETENTION_DAYS)
        async with self._database.connection() as connection:
            await event_log.make_partitions(connection)
            await sends.forget_idempotency_keys(connection, older_than=IDEMPOTENCY_KEY_RETENTION)
            await notifications.forget(connection, older_than=NOTIFICATION_RETENTION)
            await user_activity.forget(connection, older_than=ACTIVITY_RETENTION)
            await done_jobs.forget(connection, older_than=DONE_JOB_RETENTION)
            await webhook_calls.forget(connection, older_than=WEBHOOK_CALL_RETENTION)
            await integration_messages.forget(connection, older_than=INTEGRATION_MESSAGE_RETENTION)
            await message_buttons.forget(connection, older_than=BUTTON_CLICK_RETENTION)
            await command_calls.forget(connection, older_than=COMMAND_CALL_RETENTION)
            needed = await shipping.needed_since(connection)
            before = oldest if needed is None else min(oldest, needed)
            dropped = await event_log.trim(connection, before=before)
        if dropped:
            logger.info("event_log.partitions_dropped", partitions=dropped)
        return dropped
