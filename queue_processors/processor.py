"""Process a queue: decode, handle, and acknowledge, retry or dead-letter each delivery."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import SystemRandom
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from server.jobs import Job
from server.messaging.job_broker import BrokerUnavailableError, Delivery, JobBroker
from server.telemetry import traces
from storage import done_jobs
from storage.database import Database

logger = structlog.get_logger(__name__)

App = TypeVar("App")
Payload = TypeVar("Payload", bound=Job)

MAX_ATTEMPTS = 15
MAX_RETRY_DELAY_SECONDS = 600.0
"""The maximum delay of a retry. With MAX_ATTEMPTS, a job outlives a fault of an hour."""
SHUTDOWN_TIMEOUT_SECONDS = 10.0
"""The timeout for jobs in progress once their processor is to stop."""

_random = SystemRandom()


def pause_after(attempt: int, *, longest: float = MAX_RETRY_DELAY_SECONDS) -> float:
    """Return the seconds until the next attempt, doubling, with jitter to spread retries out."""
    return min(2.0**attempt, longest) * _random.uniform(0.75, 1.0)


class PermanentError(Exception):
    """An error that no retry can fix: the job is dead."""


class RetryLaterError(Exception):
    """A transient error after which the job must not be retried for `after_seconds`."""

    def __init__(self, reason: str, *, after_seconds: float) -> None:
        super().__init__(reason)
        self.after_seconds = after_seconds


@dataclass(frozen=True, slots=True)
class Processor(Generic[App, Payload]):
    """A queue's payload type and its handler, which has to be idempotent."""

    job: type[Payload]
    handle: Callable[[App, Payload], Awaitable[None]]
    prefetch: int = 10
    """The maximum number of jobs in progress in one process."""
    max_attempts: int = MAX_ATTEMPTS
    pause_after: Callable[[int], float] = pause_after
    """Return the seconds from a failed attempt to its retry."""
    finish_seconds: float = SHUTDOWN_TIMEOUT_SECONDS
    database_of: Callable[[App], Database] | None = None
    """The database that records the keys of finished jobs, so that none runs again.

    None if the handler's own rows are its idempotency record.
    """

    @property
    def queue(self) -> str:
        return self.job.queue

    async def run(self, app: App, broker: JobBroker) -> None:
        """Consume the queue until cancelled, then finish the jobs in progress.

        Jobs that take longer than `finish_seconds` are returned to the queue.
        """
        async with (
            broker.consume(self.queue, prefetch=self.prefetch) as deliveries,
            _finishing(self.finish_seconds) as in_hand,
        ):
            async for delivery in deliveries:
                _ = in_hand.start(self._process(app, delivery))

    async def _process(self, app: App, delivery: Delivery) -> None:
        span = traces.continued(
            f"process {self.queue}",
            delivery.traceparents,
            realm_id=delivery.realm_id,
            attempt=delivery.attempt,
        )
        with traces.ended(span):
            case = _DeliveryRun(self, delivery)
            payload = await case.decode()
            if payload is not None:
                await case.answer(self._handle_once(app, payload, delivery.key))

    async def _handle_once(self, app: App, payload: Payload, key: str) -> None:
        if self.database_of is None or not key:
            await self.handle(app, payload)
            return
        database = self.database_of(app)
        async with database.connection() as connection:
            if await done_jobs.is_done(connection, payload.realm_id, self.queue, key):
                return
        await self.handle(app, payload)
        async with database.connection() as connection:
            await done_jobs.insert(connection, payload.realm_id, self.queue, key)


class _DeliveryRun(Generic[Payload]):
    """The processing of one delivery."""

    def __init__(self, processor: Processor[Any, Payload], delivery: Delivery) -> None:
        self._processor = processor
        self._delivery = delivery
        self._logger = logger.bind(
            queue=processor.queue, key=delivery.key, attempt=delivery.attempt
        )

    async def decode(self) -> Payload | None:
        """Return the payload; None if the job is dead: unreadable, or delivered too often."""
        try:
            payload = msgspec.json.decode(self._delivery.body, type=self._processor.job)
        except msgspec.DecodeError as error:
            await self._settle(self._dead_letter(f"cannot be read: {error}"))
            return None
        if self._delivery.attempt > self._processor.max_attempts:
            await self._settle(self._dead_letter("handed out too often without an answer"))
            return None
        return payload

    async def answer(self, work: Awaitable[None]) -> None:
        """Await the handler; acknowledge the delivery, retry it, or dead-letter it."""
        try:
            await work
        except PermanentError as error:
            _mark_failed(error)
            await self._settle(self._dead_letter(repr(error), error))
        except Exception as error:
            _mark_failed(error)
            self._logger.exception("jobs.failed")
            await self._settle(self._try_again(error))
        else:
            await self._settle(self._delivery.ack())

    async def _try_again(self, error: Exception) -> None:
        if self._delivery.attempt < self._processor.max_attempts:
            pause = self._processor.pause_after(self._delivery.attempt)
            if isinstance(error, RetryLaterError):
                pause = max(pause, error.after_seconds)
            await self._delivery.retry(after_seconds=pause)
        else:
            await self._dead_letter(f"gave up: {error!r}", error)

    async def _dead_letter(self, reason: str, error: Exception | None = None) -> None:
        self._logger.error("jobs.dead", reason=reason)
        trace = "".join(traceback.format_exception(error)) if error is not None else ""
        await self._delivery.dead_letter(
            reason, trace=trace.replace("\0", "\N{REPLACEMENT CHARACTER}")
        )

    async def _settle(self, answering: Awaitable[None]) -> None:
        try:
            await answering
        except BrokerUnavailableError as lost:
            self._logger.warning("jobs.settle_failed", reason=str(lost))


def _mark_failed(error: Exception) -> None:
    span = traces.current()
    if span is not None:
        span.fail(type(error).__name__)


class _InHand:
    """Tasks that are not to be cancelled without need."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, seconds: float) -> None:
        """Wait for the tasks until the timeout, then cancel the others."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


@asynccontextmanager
async def _finishing(seconds: float) -> AsyncIterator[_InHand]:
    in_hand = _InHand()
    try:
        yield in_hand
    finally:
        await in_hand.finish(seconds)
