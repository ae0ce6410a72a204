"""Ship the outbox: publish entries of the event log as jobs to the queues of the processors."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

import msgspec
import structlog

from queue_processors import fanout_translation
from queue_processors.periodic import TRANSIENT_ERRORS
from server.events.base import traceparent_in
from server.events.log import JobEnqueued
from server.messaging.backoff import Backoff
from server.messaging.job_broker import BrokerUnavailableError, JobPublisher, OutgoingJob
from server.messaging.postgres import new_row
from server.telemetry import traces
from storage import jobs, shipping
from storage.database import Connection, Database
from storage.ids import RealmId
from storage.shipping import CursorRow, LaggingRow, ShippableRow

logger = structlog.get_logger(__name__)

POLL_INTERVAL_SECONDS = 0.5
"""The poll interval, and so the maximum delay of a job that no notification announced."""
MIN_PAUSE_SECONDS = 0.05
"""The minimum pause between rounds, so that a busy log is read in larger batches."""
BUSY_BATCH_ENTRIES = 40
"""The batch after which the pause is doubled; it grows with larger batches.

So the fixed costs of a round, here and in the processors, are shared by more messages.
"""
MAX_PAUSE_SECONDS = 0.25
LEAD_WITHOUT_BROKER_SECONDS = 30.0
MAX_UNSAVED_CURSOR_SECONDS = 10.0
"""The maximum time for which a cursor that passed no job moves in memory only."""
MAX_BATCH_ENTRIES = 500
MAX_BATCH_REALMS = 10_000

UNREADABLE = "unreadable"
"""The dead-letter queue of log entries that could not be translated into jobs."""

Ship = Callable[[Connection, CursorRow, CursorRow, Sequence[OutgoingJob]], Awaitable[bool]]
"""A callback that publishes jobs and moves a cursor; it returns False if the cursor had moved."""


class CursorMovedError(Exception):
    """Another shipper has moved the realm's cursor: this one is no longer the leader."""


async def into_table(
    connection: Connection, old: CursorRow, new: CursorRow, shipped: Sequence[OutgoingJob]
) -> bool:
    """Publish to the jobs table: jobs and cursor in one transaction, so each job exactly once."""
    moved = await shipping.move_with_jobs(connection, old, new, [new_row(job) for job in shipped])
    if moved:
        await jobs.announce(connection, sorted({job.queue for job in shipped}))
    return moved


def through(broker: JobPublisher) -> Ship:
    """Publish to a broker: the cursor moves after its confirmation.

    So jobs are delivered at least once.
    """

    async def publish(
        connection: Connection, old: CursorRow, new: CursorRow, shipped: Sequence[OutgoingJob]
    ) -> bool:
        await broker.publish(*shipped)
        return await shipping.move(connection, old, new)

    return publish


class Shipper:
    """Ship the logs of a shard of the realms from their cursors.

    One shipper of a shard is the leader; the others wait for the lock. The leader works on the
    connection that holds the lock, so a deposed leader cannot move a cursor; and cursors move by
    compare-and-set. Epochs are read like any other entry, and gaps in positions are allowed.
    """

    def __init__(
        self, database: Database, ship: Ship = into_table, *, shard: int = 0, shards: int = 1
    ) -> None:
        self._database = database
        self._ship = ship
        self._shard = shard
        self._shards = shards
        self._woken = asyncio.Event()
        self._behind_since: float | None = None
        self._leads = False

    @property
    def lag_seconds(self) -> float | None:
        """The age of the oldest unshipped event; None unless this shipper is the leader."""
        if not self._leads:
            return None
        if self._behind_since is None:
            return 0.0
        return asyncio.get_running_loop().time() - self._behind_since

    def wake(self) -> None:
        """Notify the shipper of a commit, so that it polls soon."""
        self._woken.set()

    async def run(self) -> None:
        """Wait for the lock and ship until cancelled; reconnect after a lost connection."""
        backoff = Backoff()
        while True:
            try:
                async with shipping.leading(self._database, self._shard) as connection:
                    self._leads = True
                    await self._insist(connection, backoff)
            except (*TRANSIENT_ERRORS, CursorMovedError) as lost:
                backoff.log_once(logger, "shipper.deferred", shard=self._shard, reason=repr(lost))
            except Exception:
                # Something in the log, perhaps: what this process does beside goes on.
                logger.exception("shipper.failed", shard=self._shard)
            finally:
                self._leads = False
            await backoff.pause()

    async def _insist(self, connection: Connection, backoff: Backoff) -> None:
        """Ship, and retry while the broker is unavailable, with the lag reported.

        After a timeout the lock is released, for another worker may reach the broker.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + LEAD_WITHOUT_BROKER_SECONDS
        while True:
            try:
                await self._lead(connection, backoff)
            except BrokerUnavailableError as away:
                if loop.time() > until:
                    raise
                backoff.log_once(logger, "shipper.deferred", shard=self._shard, reason=str(away))
                await backoff.pause()

    async def _lead(self, connection: Connection, backoff: Backoff) -> None:
        is_told = False
        round_of = _Round(connection, self._ship)
        loop = asyncio.get_running_loop()
        remember_at = loop.time() + MAX_UNSAVED_CURSOR_SECONDS
        while True:
            self._woken.clear()
            lagging = await shipping.lagging(
                connection, shard=self._shard, shards=self._shards, limit=MAX_BATCH_REALMS
            )
            if self._behind_since is None:
                self._behind_since = loop.time()
            more = await round_of.ship(lagging)
            backoff.succeeded()
            if not is_told:
                logger.info("shipper.started", shard=self._shard)
                is_told = True
            if not more:
                self._behind_since = None
            if loop.time() >= remember_at:
                await round_of.remember(lagging)
                remember_at = loop.time() + MAX_UNSAVED_CURSOR_SECONDS
            rest = MIN_PAUSE_SECONDS if more else rest_after(round_of.entries)
            await asyncio.sleep(rest)
            if not more:
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_INTERVAL_SECONDS - rest):
                        await self._woken.wait()


def rest_after(entries: int) -> float:
    """Return the seconds until the next poll, after a round with this many entries."""
    return min(MIN_PAUSE_SECONDS * (1 + entries / BUSY_BATCH_ENTRIES), MAX_PAUSE_SECONDS)


class _Round:
    """The state that a leader keeps between rounds: how far it has read without finding a job."""

    def __init__(self, connection: Connection, ship: Ship) -> None:
        self._connection = connection
        self._ship = ship
        self._read: dict[RealmId, CursorRow] = {}
        self.entries = 0
        """The number of entries of the last round."""

    async def ship(self, lagging: Sequence[LaggingRow]) -> bool:
        """Ship a batch of each realm's log. Returns whether some realm is known to have more."""
        self.entries = 0
        unfinished = [not await self._ship_realm(realm) for realm in lagging]
        return any(unfinished)

    async def remember(self, lagging: Sequence[LaggingRow]) -> None:
        """Move the stored cursors past entries without jobs."""
        for realm in lagging:
            read = self._read.pop(realm.realm_id, None)
            if read is not None and read.position > realm.position:
                await self._move(realm.cursor, read, [])

    async def _ship_realm(self, realm: LaggingRow) -> bool:
        """Ship a batch of the realm's log. Returns whether that was all of it."""
        start = self._read.get(realm.realm_id, realm.cursor)
        if start.position >= realm.clock_position:
            return True
        entries = await shipping.entries_between(
            self._connection,
            start,
            realm.caught_up,
            kinds=[*TRANSLATIONS, *fanout_translation.KINDS],
            without_body=fanout_translation.WITHOUT_BODY,
            limit=MAX_BATCH_ENTRIES,
        )
        self.entries += len(entries)
        is_all = len(entries) < MAX_BATCH_ENTRIES
        last = realm.caught_up if is_all else _cursor_at(realm.realm_id, entries[-1])
        shipped = jobs_of(realm.realm_id, entries)
        if shipped:
            await self._move(realm.cursor, last, shipped)
            self._read.pop(realm.realm_id, None)
        else:
            self._read[realm.realm_id] = last
        return is_all

    async def _move(self, old: CursorRow, new: CursorRow, shipped: Sequence[OutgoingJob]) -> None:
        ship = self._ship if shipped else _nothing
        with _publishing(shipped) as traced:
            has_moved = await ship(self._connection, old, new, traced)
        if not has_moved:
            raise CursorMovedError(f"realm {old.realm_id} is not at {old.position} any more")


@contextmanager
def _publishing(shipped: Sequence[OutgoingJob]) -> Iterator[Sequence[OutgoingJob]]:
    """Record the shipping in the traces of the jobs that have one; yields the jobs, below it."""
    if not traces.is_on():
        yield shipped
        return
    traced: list[OutgoingJob] = []
    with ExitStack() as stack:
        for job in shipped:
            name = f"publish {job.queue}"
            span = traces.continued(name, job.traceparents, realm_id=job.realm_id)
            if span is not None:
                stack.enter_context(traces.ended(span))
                others = job.traceparents.split(traces.SEPARATOR)[1:]
                own = traces.joined([span.context, *others])
                traced.append(msgspec.structs.replace(job, traceparents=own))
            else:
                traced.append(job)
        yield traced


async def _nothing(
    connection: Connection, old: CursorRow, new: CursorRow, _shipped: Sequence[OutgoingJob]
) -> bool:
    return await shipping.move(connection, old, new)


def _cursor_at(realm_id: RealmId, entry: ShippableRow) -> CursorRow:
    return CursorRow(realm_id, entry.position, entry.epoch)


def jobs_of(realm_id: RealmId, entries: Sequence[ShippableRow]) -> list[OutgoingJob]:
    """Translate log entries into jobs.

    An unreadable entry becomes a dead letter and blocks nothing.
    """
    found: list[OutgoingJob] = []
    notes = fanout_translation.Notes(realm_id)
    for entry in entries:
        key = f"{realm_id}:{entry.position}"
        try:
            if entry.kind in TRANSLATIONS:
                spans = traceparent_in(entry.audience)
                found += [
                    msgspec.structs.replace(job, traceparents=spans)
                    for job in TRANSLATIONS[entry.kind](key, entry.body)
                ]
            else:
                notes.add(entry)
        except msgspec.DecodeError:
            logger.exception("shipper.entry_failed", key=key, kind=entry.kind)
            found.append(OutgoingJob(queue=UNREADABLE, body=entry.body, key=key))
    return [
        *(msgspec.structs.replace(job, realm_id=realm_id) for job in found),
        *notes.jobs(),
    ]


_enqueued_decoder = msgspec.json.Decoder(JobEnqueued)


def _enqueued(key: str, body: bytes) -> Sequence[OutgoingJob]:
    asked = _enqueued_decoder.decode(body)
    return [
        OutgoingJob(
            queue=asked.queue,
            body=bytes(asked.job),
            key=key,
            asked_at=asked.asked_at,
            after_seconds=asked.after_seconds,
        )
    ]


TRANSLATIONS: Mapping[str, Callable[[str, bytes], Sequence[OutgoingJob]]] = {
    JobEnqueued.kind: _enqueued,
}
"""Translations of the kinds of entries that become a job each, from their key and body."""
