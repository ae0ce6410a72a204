"""The interface of job brokers: durable queues with acknowledgements."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class BrokerUnavailableError(Exception):
    """The broker is unavailable, or the connection was lost."""


MAX_DELAY_SECONDS = 86_400.0


class OutgoingJob(Struct, frozen=True, kw_only=True):
    """A job to be published."""

    queue: str
    body: bytes
    key: str = ""
    """The job's permanent idempotency key: a job published twice has the same key."""
    realm_id: int = 0
    """The job's realm, for fair scheduling between realms. 0 is the server itself."""
    asked_at: float = 0.0
    """The time of the request for the job, in seconds since 1970; 0: now."""
    after_seconds: float = 0.0
    """The minimum delay, up to MAX_DELAY_SECONDS; a broker may round it up."""
    traceparents: str = ""
    """The spans that asked for it, separated by commas, if they are traced."""


class Delivery(Protocol):
    """A delivered job. Exactly one of `ack`, `retry` and `dead_letter` ends it.

    The broker has recorded the outcome when the call returns. If the call raises
    BrokerUnavailableError, or the process dies before it, the job is delivered again.
    """

    @property
    def body(self) -> bytes: ...

    @property
    def key(self) -> str: ...

    @property
    def realm_id(self) -> int: ...

    @property
    def enqueued_at(self) -> float:
        """The time of the request for the job, in seconds since 1970."""
        ...

    @property
    def traceparents(self) -> str:
        """As in the OutgoingJob."""
        ...

    @property
    def attempt(self) -> int:
        """The number of deliveries of the job, this one included: 1 for the first."""
        ...

    async def ack(self) -> None:
        """Acknowledge the job: it is done."""
        ...

    async def retry(self, *, after_seconds: float) -> None:
        """Deliver the job again after a delay, as its next attempt."""
        ...

    async def dead_letter(self, reason: str, *, trace: str = "") -> None:
        """Move the job to the dead letters, with the reason, for an operator."""
        ...


class JobPublisher(Protocol):
    """The publishing side of a broker."""

    async def publish(self, *jobs: OutgoingJob) -> None:
        """Put the jobs into their queues; durable when it returns.

        BrokerUnavailableError: perhaps none, some or all are there. Publish them again.
        ValueError: a delay is longer than a broker can keep.
        """
        ...


class JobBroker(JobPublisher, Protocol):
    """Durable queues of jobs, at least once.

    - A published job outlives the kill of any process, of the broker too.
    - A job is in the hands of one consumer at a time, as far as a broker can tell: one that was
      cut off, or stood still, may still be working when another gets its job. So processors
      must tolerate repeats.
    - Jobs of a queue are handed out roughly in the order in which they fall due. A failed job
      waits aside and holds nothing up.
    - A realm that publishes many jobs at once does not keep the others waiting: realms take turns.
    """

    def consume(
        self, queue: str, *, prefetch: int
    ) -> AbstractAsyncContextManager[AsyncIterator[Delivery]]:
        """Receive the queue's jobs, at most `prefetch` of them unanswered at a time.

        The iterator never ends by itself and outlives an outage of the broker. When the context
        ends, what is unanswered is given back, and the attempt does not count.
        """
        ...


def check_delays(jobs: Iterable[OutgoingJob]) -> None:
    """Refuse what one of the brokers could not keep, on every broker alike."""
    for job in jobs:
        if job.after_seconds > MAX_DELAY_SECONDS:
            raise ValueError(f"a job of {job.queue} is to wait {job.after_seconds} seconds")
