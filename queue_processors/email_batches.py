"""Batches of emails on their way to their queue, and those that were lost on it."""

from datetime import timedelta
from typing import Final

from queue_processors.periodic import now_and_then
from server.jobs import EmailNotifications, outgoing
from server.messaging.job_broker import MAX_DELAY_SECONDS, JobPublisher, OutgoingJob
from storage import notifications
from storage.database import Database
from storage.ids import RealmId
from storage.notifications import BatchRow

LATE: Final = timedelta(minutes=30)
"""A batch that is closed so long after its time was forgotten, or its queue is very far behind."""
LOOK_SECONDS: Final = 300.0
AT_ONCE: Final = 500


def job_of(realm_id: RealmId, batch: BatchRow) -> OutgoingJob:
    """The job that mails the batch when it is due, or looks again when a broker's patience ends."""
    job = EmailNotifications(realm_id=realm_id, user_id=batch.user_id, batch_id=batch.batch_id)
    return outgoing(
        job,
        key=f"{batch.user_id}:{batch.batch_id}",
        after_seconds=min(max(batch.due_in_seconds, 0.0), MAX_DELAY_SECONDS),
    )


class BatchKeeper:
    """Asks again for batches whose job is lost: dropped, dead, or never handed in.

    Until it is closed a batch takes all that its person misses, so a lost one must not stay. Any
    number may run.
    """

    def __init__(self, database: Database, broker: JobPublisher) -> None:
        self._database = database
        self._broker = broker

    async def run(self) -> None:
        """Work until cancelled."""
        await now_and_then(self.look, what="look for lost emails", seconds=LOOK_SECONDS)

    async def look(self, *, at_once: int = AT_ONCE) -> int:
        """Ask for what is late; how many batches."""
        count = 0
        while True:
            async with self._database.connection() as connection:
                late = await notifications.late_batches(connection, late=LATE, limit=at_once)
            await self._broker.publish(*(job_of(*each) for each in late))
            count += len(late)
            if len(late) < at_once:
                return count
