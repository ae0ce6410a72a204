"""A server with the operator's pages, and something in its queues to look at."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from queue_processors.registry import queue_names
from server.messaging.job_broker import OutgoingJob
from server.operator import pages
from server.operator.port import metrics_port
from server.runtime.version import VERSION
from storage import workers
from storage.database import Database
from storage.workers import WorkerRow
from testkit.clients.server import Server, serve
from testkit.free_ports import free_port

PASSWORD = "correct horse battery staple"
QUEUE = "deferred_work"


@dataclass(frozen=True, slots=True)
class Operated:
    """A server, and the address where its operators look after it."""

    server: Server
    root: str

    @property
    def url(self) -> str:
        return f"{self.root}/operator"

    async def dead_letter(self, *keys: str) -> None:
        """Let jobs with these keys die."""
        jobs = self.server.app.jobs
        await jobs.publish(*[OutgoingJob(queue=QUEUE, body=b'{"a": 1}', key=k) for k in keys])
        async with jobs.consume(QUEUE, prefetch=len(keys)) as deliveries:
            for _ in keys:
                delivery = await anext(deliveries)
                await delivery.dead_letter(f"{delivery.key} cannot be", trace="in <line> 7")

    async def states(self) -> tuple[int, int]:
        """How many jobs wait, and how many are dead."""
        stats = await self.server.app.desk.stats([QUEUE])
        found = next(one for one in stats if one.queue == QUEUE)
        return found.waiting, found.dead


@asynccontextmanager
async def operated(database_url: str, **settings: Any) -> AsyncIterator[Operated]:
    settings = {"operator_password": PASSWORD, "metrics_port": free_port(), **settings}
    async with (
        serve(database_url, **settings) as server,
        metrics_port(server.app, all_queues=queue_names()) as port,
    ):
        yield Operated(server, f"http://127.0.0.1:{port}")


@pytest.fixture
def patient_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page says that there is no answer because the machine is busy."""
    for patience in ("OVERVIEW_TIMEOUT_SECONDS", "TIMEOUT_SECONDS"):
        monkeypatch.setattr(pages, patience, 60.0)


@pytest_asyncio.fixture
async def operators(
    database: Database, database_url: str, patient_pages: None
) -> AsyncIterator[Operated]:
    """A healthy server, whose events are shipped."""
    del patient_pages
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    async with database.connection() as connection:
        await workers.report(
            connection, WorkerRow("w", "host", 7, VERSION, moment, 0.0, {QUEUE: {}})
        )
    async with operated(database_url) as found:
        yield found
