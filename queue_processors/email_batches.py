"""Enqueue batches of email notifications, and retry batches with a lost job."""

from datetime import timedelta
from typing import Final

from queue_processors.periodic import now_and_then
from server.jobs import EmailNotifications, outgoing
from server.messaging.job_broker import MAX_DELAY_SECONDS, JobPublisher, OutgoingJob
from storage import notifications
from storage.database import Database
from storage.ids import RealmId
from storage.notifications import BatchRow

LOST_AFTER: Final = timedelta(minutes=30)
"""The time past its deadline after which the job of a batch is presumed lost."""
INTERVAL_SECONDS: Final = 300.0
MAX_BATCH: Final = 500


def job_of(realm_id: RealmId, batch: BatchRow) -> OutgoingJob:
    """Return the job of a batch, scheduled for its deadline or the broker's maximum delay."""
    job = EmailNotifications(realm_id=realm_id, user_id=batch.user_id, batch_id=batch.batch_id)
    return outgoing(
        job,
        key=f"{batch.user_id}:{batch.batch_id}",
        after_seconds=min(max(batch.due_in_seconds, 0.0), MAX_DELAY_SECONDS),
    )


class BatchKeeper:
    """Enqueue batches again if their job is lost: dropped, dead, or never published.

    A batch takes all notifications of its user until it is closed, so a lost job would hold them
    back for ever. Instances may run concurrently.
    """

    def __init__(self, database: Database, broker: JobPublisher) -> None:
        self._database = database
        self._broker = broker

    async def run(self) -> None:
        """Run until cancelled."""
        await now_and_then(self.look, what="look for lost emails", seconds=INTERVAL_SECONDS)

    async def look(self, *, at_once: int = MAX_BATCH) -> int:
        """Enqueue overdue batches; return how many."""
        count = 0
        while True:
            async with self._database.connection() as connection:
                late = await notifications.late_batches(connection, late=LOST_AFTER, limit=at_once)
            await self._broker.publish(*(job_of(*each) for each in late))
            count += len(late)
            if len(late) < at_once:
                return count
