"""Stop the processors of queues that an operator has paused."""

import asyncio
from typing import Any, Final

from queue_processors.periodic import now_and_then
from queue_processors.registry import AnyProcessor
from server.messaging.background import to_the_end
from server.messaging.job_broker import JobBroker
from storage import workers
from storage.database import Database

POLL_INTERVAL_SECONDS: Final = 1.0


class Pauses:
    """The paused queues, as last read from the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._paused: frozenset[str] = frozenset()
        self._changed = asyncio.Condition()

    async def run(self) -> None:
        """Poll until cancelled."""
        await now_and_then(
            self.look,
            what="hear of stopped queues",
            seconds=POLL_INTERVAL_SECONDS,
            first_seconds=0.0,
        )

    async def look(self) -> None:
        """Read the paused queues now."""
        async with self._database.connection() as connection:
            paused = frozenset(await workers.paused(connection))
        if paused != self._paused:
            self._paused = paused
            async with self._changed:
                self._changed.notify_all()

    async def until(self, queue: str, *, paused: bool) -> None:
        """Wait until the queue is paused, or is not."""
        async with self._changed:
            await self._changed.wait_for(lambda: (queue in self._paused) is paused)


async def work_unless_paused(
    processor: AnyProcessor, app: Any, broker: JobBroker, pauses: Pauses
) -> None:
    """Run a processor whenever its queue is not paused, until cancelled.

    A paused processor finishes its jobs in progress and returns the others to the queue.
    """
    while True:
        await pauses.until(processor.queue, paused=False)
        work = asyncio.create_task(processor.run(app, broker))
        stopped = asyncio.create_task(pauses.until(processor.queue, paused=True))
        try:
            await asyncio.wait([work, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await to_the_end(_end(work, stopped))


async def _end(work: asyncio.Task[None], stopped: asyncio.Task[None]) -> None:
    """Cancel both tasks, and raise the error of a processor that failed."""
    stopped.cancel()
    work.cancel()
    await asyncio.wait([work, stopped])
    if not work.cancelled():
        work.result()
