"""Run queue processors and the shipper, in a worker process or within the server."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from queue_processors import reaction_notifications, reminders, scheduled_messages
from queue_processors.blob_keeper import BlobKeeper
from queue_processors.digest_keeper import DigestKeeper
from queue_processors.due_items import DueItemRunner
from queue_processors.email_batches import BatchKeeper
from queue_processors.heartbeat import Heartbeat
from queue_processors.log_keeper import LogKeeper
from queue_processors.push_keeper import PushKeeper
from queue_processors.queue_pauses import Pauses, work_unless_paused
from queue_processors.registry import AnyProcessor
from queue_processors.retention import BATCH_PAUSE_SECONDS, RetentionKeeper
from queue_processors.search_indexer import SearchIndexer
from queue_processors.shipper import Shipper, into_table, through
from queue_processors.traffic_keeper import TrafficKeeper
from queue_processors.work_log import WorkLog
from server.app import App

TIMERS: Final = (scheduled_messages.KIND, reminders.KIND, reaction_notifications.KIND)


async def run(
    app: App,
    processors: Sequence[AnyProcessor],
    *,
    with_shipper: bool,
    serves: bool = False,
    takes_mail: bool = False,
) -> None:
    """Run until cancelled; then each processor finishes its current jobs.

    The shipper comes with the periodic tasks: maintenance of the log, retries of lost emails, the
    search index, retention, file clean-up, digests, and due items. The heartbeat publishes what
    this process does, and whether it also `serves` clients or `takes_mail`.
    """
    broker = WorkLog(app.jobs, app.metrics, lambda: app.clock.now().timestamp())
    shipper = await shipper_of(app) if with_shipper else None
    pauses = Pauses(app.database)
    heartbeat = Heartbeat(
        app.database,
        app.desk,
        [processor.queue for processor in processors],
        started_at=app.clock.now(),
        shipper=shipper,
        work=broker.report,
        serves=serves,
        takes_mail=takes_mail,
        state=app.state,
    )
    async with asyncio.TaskGroup() as group:
        if shipper is not None:
            group.create_task(shipper.run())
            group.create_task(LogKeeper(app.database, app.clock).run())
            group.create_task(BlobKeeper.of(app).run())
            group.create_task(BatchKeeper(app.database, app.jobs).run())
            group.create_task(SearchIndexer(app.database).run())
            group.create_task(due_item_runner(app).run())
            group.create_task(PushKeeper(app).run())
            group.create_task(DigestKeeper(app).run())
            group.create_task(retention_keeper_of(app).run())
            group.create_task(TrafficKeeper(app.database, app.clock).run())
        group.create_task(heartbeat.run())
        if processors:
            group.create_task(pauses.run())
        for processor in processors:
            group.create_task(work_unless_paused(processor, app, broker, pauses))


def due_item_runner(app: App, *, now: Callable[[], datetime] | None = None) -> DueItemRunner:
    """Return the runner of due items, on the database's clock unless `now` is given."""
    return DueItemRunner(app.database, app.uncached_realm_services, app.metrics, TIMERS, now=now)


def retention_keeper_of(app: App, *, pause_seconds: float = BATCH_PAUSE_SECONDS) -> RetentionKeeper:
    """Return the task that deletes messages past their realm's retention period."""
    return RetentionKeeper(
        app.database,
        app.uncached_realm_services,
        app.clock,
        kept_aside=timedelta(days=app.settings.expired_messages_days),
        pause_seconds=pause_seconds,
    )


async def shipper_of(app: App) -> Shipper:
    """Return a shipper to the app's job broker that is notified of each commit."""
    ship = into_table if app.settings.amqp_url is None else through(app.jobs)
    shipper = Shipper(app.database, ship)
    await app.realtime.shipper_notifier.listen(shipper.wake)
    return shipper
