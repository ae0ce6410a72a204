"""Queues that an operator has stopped: nobody begins work on them."""

import asyncio
from typing import Any, Final

from queue_processors.periodic import now_and_then
from queue_processors.registry import AnyProcessor
from server.messaging.background import to_the_end
from server.messaging.job_broker import JobBroker
from storage import workers
from storage.database import Database

LOOK_SECONDS: Final = 1.0


class Pauses:
    """Which queues are stopped, as last heard from the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._paused: frozenset[str] = frozenset()
        self._changed = asyncio.Condition()

    async def run(self) -> None:
        """Keep looking until cancelled."""
        await now_and_then(
            self.look, what="hear of stopped queues", seconds=LOOK_SECONDS, first_seconds=0.0
        )

    async def look(self) -> None:
        """Ask the database now."""
        async with self._database.connection() as connection:
            paused = frozenset(await workers.paused(connection))
        if paused != self._paused:
            self._paused = paused
            async with self._changed:
                self._changed.notify_all()

    async def until(self, queue: str, *, paused: bool) -> None:
        """Wait until the queue is stopped, or is not."""
        async with self._changed:
            await self._changed.wait_for(lambda: (queue in self._paused) is paused)


async def work_unless_paused(
    processor: AnyProcessor, app: Any, broker: JobBroker, pauses: Pauses
) -> None:
    """Run the processor whenever its queue is not stopped, until cancelled.

    One that is stopped finishes what it has in hand and gives back the rest, as at its end.
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
    """Cancel both, and let the error of a processor that failed come out."""
    stopped.cancel()
    work.cancel()
    await asyncio.wait([work, stopped])
    if not work.cancelled():
        work.result()
