"""Work for the queue processors: handed out until somebody has said that it is done."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class BrokerUnavailableError(Exception):
    """The broker cannot be reached now, or went away in the middle."""


MAX_DELAY_SECONDS = 86_400.0


class OutgoingJob(Struct, frozen=True, kw_only=True):
    """A job on its way to its queue."""

    queue: str
    body: bytes
    key: str = ""
    """Names the work, for ever: a job published twice has the same key twice."""
    realm_id: int = 0
    """Whose work it is: realms take turns. 0 is the server itself."""
    asked_at: float = 0.0
    """When something asked for it, in seconds since 1970; 0: now."""
    after_seconds: float = 0.0
    """Do not hand it out before, for MAX_DELAY_SECONDS at most; a broker may round up."""


class Delivery(Protocol):
    """A job in somebody's hands. Exactly one of the three answers ends it.

    The broker has the answer when it returns. If it raises BrokerUnavailableError, or never comes
    because its process has died, the job is handed out again.
    """

    @property
    def body(self) -> bytes: ...

    @property
    def key(self) -> str: ...

    @property
    def realm_id(self) -> int: ...

    @property
    def enqueued_at(self) -> float:
        """When it was asked for, in seconds since 1970."""
        ...

    @property
    def attempt(self) -> int:
        """How often the job has been handed out, this time included: 1 for the first."""
        ...

    async def ack(self) -> None:
        """It is done: forget it."""
        ...

    async def retry(self, *, after_seconds: float) -> None:
        """It failed for now: hand it out again after that long, as the next attempt."""
        ...

    async def dead_letter(self, reason: str, *, trace: str = "") -> None:
        """It cannot be done: keep it aside, with the reason, for an operator to see."""
        ...


class JobPublisher(Protocol):
    """Where jobs are handed in."""

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
