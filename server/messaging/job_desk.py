"""What an operator sees of the queues of jobs, and does with them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from storage.jobs import DeadJobRow, QueueStats, WaitingJobRow


class Later(NamedTuple):
    """How many jobs wait for their time."""

    jobs: int
    is_of_all_queues: bool
    """The broker does not tell them apart."""


class JobDesk(Protocol):
    """The queues from outside. Every call may raise BrokerUnavailableError."""

    async def stats(self, queues: Sequence[str]) -> list[QueueStats]:
        """How each of these queues is, and any other that holds something and is known of."""
        ...

    async def waiting(self, queue: str, *, limit: int) -> list[WaitingJobRow]:
        """Some of the jobs that wait to be handed out now.

        To look at a job does not count as an attempt; on RabbitMQ it goes to the end of its queue.
        """
        ...

    async def later(self, queue: str) -> Later:
        """How many of the queue's jobs, or of all together, wait to be handed out later."""
        ...

    async def dead(self, queue: str, *, limit: int) -> list[DeadJobRow]:
        """The queue's dead jobs, the latest first, with what they died of."""
        ...

    async def retry(self, queue: str) -> int:
        """Let all that wait for a later time be handed out now; how many."""
        ...

    async def replay(self, queue: str, ids: Collection[str] | None) -> int:
        """Put these dead jobs, or all, into the queue again, as if new; how many."""
        ...

    async def drop(self, queue: str, ids: Collection[str] | None) -> int:
        """Forget these dead jobs, or all; how many."""
        ...
