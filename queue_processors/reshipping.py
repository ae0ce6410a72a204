"""Publish jobs of the event log again that were lost with the broker's data."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from queue_processors import fanout_translation
from queue_processors.shipper import MAX_BATCH_ENTRIES, TRANSLATIONS, UNREADABLE, jobs_of
from server.jobs import (
    EmailNotifications,
    EmbedLinks,
    MessageFanout,
    OutgoingWebhook,
    PushNotification,
)
from server.messaging.job_broker import JobPublisher
from storage import reshipping, shipping
from storage.database import Database
from storage.ids import Position, RealmId
from storage.shipping import CursorRow

FROM_FANOUT: Final = frozenset(
    job.queue for job in (EmailNotifications, EmbedLinks, OutgoingWebhook, PushNotification)
)
"""Queues with jobs that follow from the message fan-out rather than from log entries."""

Progress = Callable[[Position, int], None]
"""A callback for the position reached and the number of jobs published so far."""


@dataclass(frozen=True, slots=True)
class Reshipper:
    """Publish the jobs of a range that was shipped before. Cursors are not moved.

    Processors skip finished jobs, so a range may be shipped any number of times, also while the
    leading shipper runs.
    """

    database: Database
    publisher: JobPublisher
    queues: Collection[str] = ()
    """The queues to publish to; all of them if empty."""

    async def ship(
        self, realm_id: RealmId, after: Position, progress: Progress = lambda *_: None
    ) -> Mapping[str, int]:
        """Publish the jobs from the position to the realm's cursor; return their number by queue.

        Raises BrokerUnavailableError after some of them may have been published.
        """
        counts: dict[str, int] = {}
        async with self.database.connection() as connection:
            until = await reshipping.shipped_until(connection, realm_id)
        place = CursorRow(realm_id, after, 0)
        while until is not None and place.position < until.position:
            place = await self._page(place, until, counts)
            progress(place.position, sum(counts.values()))
        return counts

    async def _page(self, place: CursorRow, until: CursorRow, counts: dict[str, int]) -> CursorRow:
        realm_id = place.realm_id
        async with self.database.connection() as connection:
            entries = await shipping.entries_between(
                connection,
                place,
                until,
                kinds=[*TRANSLATIONS, *fanout_translation.KINDS],
                without_body=fanout_translation.WITHOUT_BODY,
                limit=MAX_BATCH_ENTRIES,
            )
            is_all = len(entries) < MAX_BATCH_ENTRIES
            last = until if is_all else CursorRow(realm_id, entries[-1].position, 0)
            if self._wants(MessageFanout.queue):
                await reshipping.hand_over_again(
                    connection, realm_id, after=place.position, until=last.position
                )
        again = [job for job in jobs_of(realm_id, entries) if self._wants(job.queue)]
        if again:
            await self.publisher.publish(*again)
        for job in again:
            counts[job.queue] = counts.get(job.queue, 0) + 1
        return last

    def _wants(self, queue: str) -> bool:
        if not self.queues:
            return queue != UNREADABLE  # those are dead letters for an operator, not work
        follows = queue == MessageFanout.queue and not FROM_FANOUT.isdisjoint(self.queues)
        return queue in self.queues or follows
