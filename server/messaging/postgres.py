"""Messaging of the embedded mode: NOTIFY as a wake-up, and a table of jobs."""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress

import structlog

from server.messaging.background import running, to_the_end
from server.messaging.backoff import Backoff
from server.messaging.event_bus import BusListener, Hint, check_ephemeral
from server.messaging.inbox import Inbox
from server.messaging.job_broker import BrokerUnavailableError, OutgoingJob, check_delays
from storage import jobs
from storage.database import RETRYABLE_ERRORS, Connection, Database
from storage.ids import Position, RealmId
from storage.wakeups import Notifier, listening, notifying

logger = structlog.get_logger(__name__)

CHANNEL = "parley_events"
HINT = "h"
EPHEMERAL = "e"
LEASE_TIMEOUT_SECONDS = 15.0  # how long a job of a killed worker waits for the next one
POLL_INTERVAL_SECONDS = 5.0  # the maximum delay of a job with a lost wake-up
MIN_POLL_INTERVAL_SECONDS = 0.01  # a due job that is not found is locked briefly
MIN_NOTIFY_INTERVAL_SECONDS = (
    0.01  # between two NOTIFYs: each is a commit, and wakes every process that listens
)
MAX_WAITING_EPHEMERALS = 1_000  # until the next NOTIFY; the oldest is lost first


_TRACED = b'{"traceparents":"'


class PostgresEventBus:
    """An EventBus on one channel of NOTIFY. Its hints carry no entries.

    One connection listens and another notifies, outside of every transaction. Publications within
    MIN_NOTIFY_INTERVAL_SECONDS of a NOTIFY wait for the next one, in which the hints of a realm are
    merged. Use `open_postgres_bus`.
    """

    carries_entries = False

    def __init__(self, database: Database, listener: BusListener) -> None:
        self._database = database
        self._inbox = Inbox(listener)
        self._publications = _PublishBuffer(sender=secrets.token_hex(4))
        self._tried = asyncio.Event()
        self.is_connected = False
        self.dropped = 0
        """The number of waiting publications lost with a connection."""

    def publish(self, hint: Hint) -> None:
        self._publications.add_hint(hint)

    def publish_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        check_ephemeral(body)
        self._publications.add_ephemeral(realm_id, body)

    async def follow(self, realm_id: RealmId) -> None:
        self._inbox.followed.add(realm_id)

    def unfollow(self, realm_id: RealmId) -> None:
        self._inbox.followed.discard(realm_id)

    async def tried(self) -> None:
        """Wait until the first attempt to listen has succeeded or failed."""
        await self._tried.wait()

    async def listen(self) -> None:
        """Listen until cancelled; reconnect after a lost connection."""
        backoff = Backoff()
        missed = False
        while True:
            try:
                async with listening(self._database, CHANNEL) as payloads:
                    backoff.succeeded()
                    self._tried.set()
                    self.is_connected = True
                    if missed:
                        self._inbox.gap()
                    async for payload in payloads:
                        self._receive(payload)
            except RETRYABLE_ERRORS as lost:
                backoff.log_once(logger, "event_bus.listen_failed", reason=str(lost))
            missed = True
            self.is_connected = False
            self._tried.set()
            await backoff.pause()

    async def send(self) -> None:
        """Publish until cancelled; reconnect after a lost connection."""
        backoff = Backoff()
        while True:
            try:
                async with notifying(self._database) as notifier:
                    backoff.succeeded()
                    await self._send_over(notifier)
            except RETRYABLE_ERRORS as lost:
                self.dropped += self._publications.clear()
                backoff.log_once(logger, "event_bus.publish_failed", reason=str(lost))
            await backoff.pause()

    async def _send_over(self, notifier: Notifier) -> None:
        while True:
            payloads = await self._publications.take()
            try:
                await notifier.notify(CHANNEL, payloads)
            except RETRYABLE_ERRORS:
                self.dropped += len(payloads)
                raise
            await asyncio.sleep(MIN_NOTIFY_INTERVAL_SECONDS)

    def _receive(self, payload: str) -> None:
        try:
            sender, kind, realm, rest = payload.split(" ", 3)
            if sender == self._publications.sender:  # our own, come back
                return
            if kind == HINT:
                epoch, first, last = map(int, rest.split(" "))
                self._inbox.hint(Hint(RealmId(int(realm)), epoch, Position(first), Position(last)))
            else:
                self._inbox.ephemeral(RealmId(int(realm)), rest.encode())
        except ValueError:
            logger.exception("event_bus.malformed_message")


class _PublishBuffer:
    """Publications that wait for the next NOTIFY: a merged hint per realm, and ephemeral events."""

    def __init__(self, sender: str) -> None:
        self.sender = sender
        self._hints: dict[RealmId, Hint] = {}
        self._ephemerals: deque[tuple[RealmId, bytes]] = deque(maxlen=MAX_WAITING_EPHEMERALS)
        self._filled = asyncio.Event()

    def add_hint(self, hint: Hint) -> None:
        waiting = self._hints.get(hint.realm_id)
        self._hints[hint.realm_id] = _merge(waiting, hint) if waiting else hint
        self._filled.set()

    def add_ephemeral(self, realm_id: RealmId, body: bytes) -> None:
        self._ephemerals.append((realm_id, body))
        self._filled.set()

    async def take(self) -> list[str]:
        """Wait for publications; return all of them as payloads."""
        await self._filled.wait()
        payloads = [
            f"{self.sender} {HINT} {hint.realm_id} {hint.epoch} {hint.first} {hint.last}"
            for hint in self._hints.values()
        ]
        payloads += [
            f"{self.sender} {EPHEMERAL} {realm_id} {body.decode()}"
            for realm_id, body in self._ephemerals
        ]
        self.clear()
        return payloads

    def clear(self) -> int:
        """Drop waiting publications; return their number."""
        waiting = len(self._hints) + len(self._ephemerals)
        self._hints.clear()
        self._ephemerals.clear()
        self._filled.clear()
        return waiting


def _merge(one: Hint, other: Hint) -> Hint:
    """Merge two hints of a realm; of two epochs the later counts."""
    if one.epoch != other.epoch:
        return max(one, other, key=lambda hint: hint.epoch)
    first, last = min(one.first, other.first), max(one.last, other.last)
    return Hint(one.realm_id, one.epoch, first, last)


@asynccontextmanager
async def open_postgres_bus(
    database: Database, listener: BusListener
) -> AsyncIterator[PostgresEventBus]:
    """Open a bus on this database, listening if the database is available; see EventBus."""
    bus = PostgresEventBus(database, listener)
    async with running(bus.listen(), bus.send()):
        await bus.tried()
        yield bus


class PostgresJobBroker:
    """A JobBroker on a table, woken by NOTIFY.

    A delivered job is leased: the lease is renewed while its consumer lives, and when it expires,
    the job is delivered again. Use `open_postgres_jobs`.
    """

    def __init__(self, database: Database, *, lease_seconds: float = LEASE_TIMEOUT_SECONDS) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._consumers: set[_PostgresConsumer] = set()
        self._consumed = asyncio.Event()
        self._claim_lock = asyncio.Lock()
        """Of the consumers one looks at a time: together they would take all connections."""

    async def publish(self, *outgoing: OutgoingJob) -> None:
        check_delays(outgoing)
        rows = [new_row(job) for job in outgoing]
        async with _reachable(self._database) as connection:
            await jobs.insert(connection, rows)
            await jobs.announce(connection, sorted({job.queue for job in outgoing}))

    @asynccontextmanager
    async def consume(
        self, queue: str, *, prefetch: int
    ) -> AsyncIterator[AsyncIterator["PostgresDelivery"]]:
        consumer = _PostgresConsumer(
            self._database, queue, prefetch, self._lease_seconds, self._claim_lock
        )
        self._consumers.add(consumer)
        self._consumed.set()
        try:
            async with running(consumer.keep_leases()), aclosing(consumer.deliveries()) as handed:
                yield handed
        finally:
            self._consumers.discard(consumer)
            await to_the_end(consumer.give_back())

    async def listen(self) -> None:
        """Wake consumers, once there are any, when their queue gets something, until cancelled.

        Consumers find by polling what a lost connection does not report.
        """
        await self._consumed.wait()
        backoff = Backoff()
        while True:
            with suppress(*RETRYABLE_ERRORS):
                async with listening(self._database, jobs.CHANNEL) as queues:
                    backoff.succeeded()
                    self._wake(None)
                    async for queue in queues:
                        self._wake(queue)
            await backoff.pause()

    def _wake(self, queue: str | None) -> None:
        for consumer in self._consumers:
            if queue in (None, consumer.queue):
                consumer.wake()


class _PostgresConsumer:
    """One `consume`: what it holds, and when it looks for more."""

    def __init__(
        self,
        database: Database,
        queue: str,
        prefetch: int,
        lease_seconds: float,
        claim_lock: asyncio.Lock,
    ) -> None:
        self.database = database
        self.queue = queue
        self._prefetch = prefetch
        self._lease_seconds = lease_seconds
        self._claim_lock = claim_lock
        self._last_realm = -1
        """The next hand-out begins with the realm after this one."""
        self._held: dict[int, jobs.JobRow] = {}
        self._claiming: asyncio.Task[list[jobs.JobRow]] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Look for jobs now."""
        self._woken.set()

    def release(self, row: jobs.JobRow) -> None:
        """The job is out of our hands, one way or another."""
        self._held.pop(row.id, None)
        self._room.set()

    async def deliveries(self) -> AsyncGenerator["PostgresDelivery", None]:
        backoff = Backoff()
        while True:
            await self._room.wait()
            self._woken.clear()
            try:
                self._claiming = asyncio.create_task(self._claim())
                rows = await asyncio.shield(self._claiming)
                backoff.succeeded()
                if not rows:
                    await self._wait_for_more()
            except RETRYABLE_ERRORS as lost:
                backoff.log_once(
                    logger, "job_broker.fetch_failed", queue=self.queue, reason=str(lost)
                )
                await backoff.pause()
                continue
            for row in rows:
                yield PostgresDelivery(self, row)

    async def keep_leases(self) -> None:
        """Lengthen the leases of what is held, in good time, until cancelled."""
        while True:
            await asyncio.sleep(self._lease_seconds / 3)
            held = list(self._held.values())
            if held:
                with suppress(*RETRYABLE_ERRORS):  # the lease may end; that is allowed
                    async with self.database.connection() as connection:
                        await jobs.extend(connection, held, lease_seconds=self._lease_seconds)

    async def give_back(self) -> None:
        """Release unfinished jobs, so that other consumers get them at once."""
        if self._claiming:  # what it claims is held too, even without a waiter
            await asyncio.wait([self._claiming])
        held = list(self._held.values())
        if held:
            with suppress(*RETRYABLE_ERRORS):  # then they get it when the leases end
                async with self.database.connection() as connection:
                    await jobs.give_back(connection, held)
                    await jobs.announce(connection, [self.queue])

    async def _claim(self) -> list[jobs.JobRow]:
        room = self._prefetch - len(self._held)
        async with self._claim_lock, self.database.connection() as connection:
            rows = await jobs.claim(
                connection,
                self.queue,
                limit=room,
                lease_seconds=self._lease_seconds,
                after_realm=self._last_realm,
            )
        if rows:
            self._last_realm = rows[-1].realm_id
        self._held.update((row.id, row) for row in rows)
        if len(self._held) >= self._prefetch:
            self._room.clear()
        return rows

    async def _wait_for_more(self) -> None:
        async with self._claim_lock, self.database.connection() as connection:
            seconds = await jobs.seconds_until_due(connection, self.queue)
        pause = (
            POLL_INTERVAL_SECONDS
            if seconds is None
            else min(max(seconds, MIN_POLL_INTERVAL_SECONDS), POLL_INTERVAL_SECONDS)
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()


class PostgresDelivery:
    """A Delivery of one row: answers go to the hand-out that it stands for, to no later one."""

    def __init__(self, consumer: _PostgresConsumer, row: jobs.JobRow) -> None:
        self._consumer = consumer
        self._row = row
        self.traceparents, self.body = _without_traceparents(row.body)
        self.key = row.key
        self.realm_id = row.realm_id
        self.enqueued_at = row.enqueued_at.timestamp()
        self.attempt = row.attempts

    async def ack(self) -> None:
        async with self._answering() as connection:
            await jobs.delete(connection, self._row)

    async def retry(self, *, after_seconds: float) -> None:
        async with self._answering() as connection:
            await jobs.postpone(connection, self._row, after_seconds=after_seconds)
        self._consumer.wake()  # to know when it falls due

    async def dead_letter(self, reason: str, *, trace: str = "") -> None:
        async with self._answering() as connection:
            await jobs.dead_letter(connection, self._row, reason=reason, trace=trace)

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[Connection]:
        try:
            async with _reachable(self._consumer.database) as connection:
                yield connection
        finally:
            self._consumer.release(self._row)


def new_row(job: OutgoingJob) -> jobs.NewJob:
    """The job as the table takes it: a traced one has its spans as the first member of its body."""
    body = job.body
    if job.traceparents and body.startswith(b'{"'):
        body = b'%b%b",%b' % (_TRACED, job.traceparents.encode(), body[1:])
    return jobs.NewJob(job.queue, job.key, body, job.after_seconds, job.realm_id, job.asked_at)


def _without_traceparents(body: bytes) -> tuple[str, bytes]:
    if not body.startswith(_TRACED):
        return "", body
    spans, _, rest = body.removeprefix(_TRACED).partition(b'",')
    return spans.decode(errors="replace"), b"{" + rest


@asynccontextmanager
async def _reachable(database: Database) -> AsyncIterator[Connection]:
    try:
        async with database.connection() as connection:
            yield connection
    except RETRYABLE_ERRORS as lost:
        raise BrokerUnavailableError(str(lost)) from lost


@asynccontextmanager
async def open_postgres_jobs(
    database: Database, *, lease_seconds: float = LEASE_TIMEOUT_SECONDS
) -> AsyncIterator[PostgresJobBroker]:
    """A broker of jobs on this database; see JobBroker."""
    broker = PostgresJobBroker(database, lease_seconds=lease_seconds)
    async with running(broker.listen()):
        yield broker
