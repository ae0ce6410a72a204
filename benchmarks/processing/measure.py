"""Measure the throughput of each queue processor, from the log to completed jobs."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from benchmarks.processing.environment import JobEnvironment, job_environment
from benchmarks.processing.jobs import JOBS
from benchmarks.server import Server
from queue_processors.registry import PROCESSORS, AnyProcessor
from queue_processors.work_log import WorkLog
from server.jobs import Job, enqueue
from server.telemetry.metrics import Metrics
from server.transactions import Tx
from storage import workers

SINGLES_SHARE: Final = 6
"""One of so many is asked for alone, to see how long it takes; the others in one commit, to see
how many are done a second."""
SECONDS_BETWEEN: Final = 0.02
PATIENCE_SECONDS: Final = 120


@dataclass
class Processed:
    """Seconds of one processor."""

    single: list[float] = field(default_factory=list)
    """From the moment that asks for a job to its end, with nothing else to do."""
    a_second: float = 0.0
    """How many are done of those that were asked for in one commit."""


class Recorder(Metrics):
    """Notes how long jobs took, and when there are enough."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.failures = 0
        self._arrived = asyncio.Event()

    @override
    def done(self, queue: str, seconds: float) -> None:
        self.seconds.append(seconds)
        self._arrived.set()

    @override
    def answered(self, queue: str, answer: str) -> None:
        self.failures += answer != "done"
        self._arrived.set()

    async def until(self, count: int) -> None:
        """Wait until so many are done in all. Raises RuntimeError if one fails."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.seconds) < count:
                if self.failures:
                    raise RuntimeError("a job has failed: its figure would mean nothing")
                self._arrived.clear()
                await self._arrived.wait()


async def measure(server: Server) -> dict[str, Processed]:
    """Each processor in turn, in this process; the server's own workers stand aside."""
    async with AsyncExitStack() as stack:
        database = stack.enter_context(server.database())
        env = await stack.enter_async_context(job_environment(server, database))
        async with env.app.database.connection() as connection:
            for processor in PROCESSORS:
                await workers.pause(connection, processor.queue)
        await asyncio.sleep(3)  # they look whether they are to stop every second
        return {
            processor.queue: await _measure(processor, env, await JOBS[processor.job](env))
            for processor in PROCESSORS
        }


async def _measure(processor: AnyProcessor, env: JobEnvironment, jobs: Sequence[Job]) -> Processed:
    app, recorder, found = env.app, Recorder(), Processed()
    await asyncio.sleep(1)  # what those before have led to is shipped by then
    env.database.execute("DELETE FROM jobs WHERE queue = %s", [processor.queue])
    log = WorkLog(app.jobs, recorder, lambda: app.clock.now().timestamp())
    working = asyncio.create_task(processor.run(app, log))
    singles = len(jobs) // SINGLES_SHARE
    try:
        for number, job in enumerate(jobs[:singles], start=1):
            await _ask(env, [job])
            await recorder.until(number)
            await asyncio.sleep(SECONDS_BETWEEN)
        found.single = list(recorder.seconds)
        began = time.perf_counter()
        await _ask(env, jobs[singles:])
        await recorder.until(len(jobs))
        found.a_second = (len(jobs) - singles) / (time.perf_counter() - began)
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return found


async def _ask(env: JobEnvironment, jobs: Sequence[Job]) -> None:
    async def ask(tx: Tx) -> None:
        for job in jobs:
            enqueue(tx, job)

    await env.app.writers.of(env.realm_id).write(ask)
