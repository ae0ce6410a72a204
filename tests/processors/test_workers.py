"""Workers as processes: the log becomes jobs, and jobs are done, also when workers are killed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from server.jobs import DeferredWork, enqueue
from server.messaging.rabbitmq_desk import RabbitJobDesk
from server.writer import WriteTx
from storage import workers
from storage.database import Database
from storage.workers import WorkerRow
from testkit import fork_server
from testkit.factories import Make
from testkit.stage import Stage

PATIENCE_SECONDS = 60


async def ask(stage: Stage, make: Make, step: str) -> None:
    """Ask for work that dies at once: its dead letter shows that a worker has taken it."""

    async def action(tx: WriteTx) -> None:
        enqueue(tx, DeferredWork.of(make.realm_id, step, {}))

    await stage.writers.of(make.realm_id).write(action)


async def until_dead(desk: RabbitJobDesk, step: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(step in row.reason for row in await desk.dead("deferred_work", limit=99)):
            pass


async def leader(database: Database) -> WorkerRow:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with database.connection() as connection:
                found = await workers.at_work(connection)
            for row in found:
                if row.ship_lag_seconds is not None:
                    return row


@asynccontextmanager
async def worker(database_url: str, amqp_url: str) -> AsyncIterator[fork_server.Popen]:
    environment = {"DATABASE_URL": database_url, "AMQP_URL": amqp_url, "PATH": os.defpath}
    process = fork_server.Popen(
        (sys.executable, "-m", "scripts.cli.main", "worker", "deferred_work"),
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


@pytest.mark.asyncio
async def test_jobs_go_on_when_the_leading_worker_is_killed(
    stage: Stage, make: Make, database: Database, database_url: str, amqp_url: str
):
    desk = RabbitJobDesk(amqp_url, database)
    async with AsyncExitStack() as stack:
        processes = {}
        for _ in range(2):
            process = await stack.enter_async_context(worker(database_url, amqp_url))
            processes[process.pid] = process
        await ask(stage, make, "first")
        await until_dead(desk, "first")

        killed = processes.pop((await leader(database)).pid)
        killed.send_signal(signal.SIGKILL)
        await asyncio.to_thread(killed.wait)
        await ask(stage, make, "second")
        await until_dead(desk, "second")

        (left,) = processes.values()
        left.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await asyncio.to_thread(left.wait) == 0
        async with database.connection() as connection:
            assert left.pid not in {row.pid for row in await workers.at_work(connection)}
