"""Operations on job queues, for operators."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from storage.jobs import DeadJobRow, QueueStats, WaitingJobRow


class ScheduledJobs(NamedTuple):
    """The number of jobs that are scheduled for later."""

    jobs: int
    is_of_all_queues: bool
    """The broker does not count them by queue."""


class JobDesk(Protocol):
    """The interface of queue operations. Every call may raise BrokerUnavailableError."""

    async def stats(self, queues: Sequence[str]) -> list[QueueStats]:
        """Return statistics of these queues, and of any other known queue that is not empty."""
        ...

    async def waiting(self, queue: str, *, limit: int) -> list[WaitingJobRow]:
        """Return some of the jobs that wait to be delivered now.

        This does not count as an attempt; on RabbitMQ the jobs move to the end of their queue.
        """
        ...

    async def later(self, queue: str) -> ScheduledJobs:
        """Return the number of scheduled jobs of the queue, or of all queues together."""
        ...

    async def dead(self, queue: str, *, limit: int) -> list[DeadJobRow]:
        """Return the queue's dead jobs with their errors, latest first."""
        ...

    async def retry(self, queue: str) -> int:
        """Deliver all scheduled jobs now; return their number."""
        ...

    async def replay(self, queue: str, ids: Collection[str] | None) -> int:
        """Enqueue these dead jobs, or all, as new ones; return their number."""
        ...

    async def drop(self, queue: str, ids: Collection[str] | None) -> int:
        """Delete these dead jobs, or all; return their number."""
        ...
