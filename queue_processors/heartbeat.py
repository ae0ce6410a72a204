"""Write the heartbeat of a process, by which operators and other processes find it."""

import asyncio
import os
import socket
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import structlog

from queue_processors.periodic import TRANSIENT_ERRORS
from queue_processors.shipper import Shipper
from server.messaging.job_desk import JobDesk
from server.runtime.version import VERSION
from storage import workers
from storage.database import Database
from storage.workers import WorkerRow

logger = structlog.get_logger(__name__)

INTERVAL_SECONDS: Final = 5.0
FIRST_INTERVAL_SECONDS: Final = 0.5
"""The interval to the second heartbeat, by which time the leader is known."""


class Heartbeat:
    """The heartbeat of one process that serves clients, receives mail or processes queues."""

    def __init__(
        self,
        database: Database,
        desk: JobDesk,
        queues: Sequence[str],
        *,
        started_at: datetime,
        shipper: Shipper | None,
        work: Callable[[], dict[str, dict[str, object]]],
        serves: bool = False,
        takes_mail: bool = False,
        state: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self._database = database
        self._desk = desk
        self._queues = queues
        self._started_at = started_at
        self._shipper = shipper
        self._work = work
        self._serves = serves
        self._takes_mail = takes_mail
        self._state = state
        self._id = uuid.uuid4().hex

    async def run(self) -> None:
        """Write a heartbeat now and at each interval until cancelled; delete the row at the end."""
        pause = FIRST_INTERVAL_SECONDS
        try:
            while True:
                await self._try(self.report)
                await asyncio.sleep(pause)
                pause = INTERVAL_SECONDS
        finally:
            await self._try(self._leave)

    async def report(self) -> None:
        """Write the state of this process and, if it is the leader, which queues are empty."""
        lag = None if self._shipper is None else self._shipper.lag_seconds
        row = WorkerRow(
            id=self._id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=VERSION,
            started_at=self._started_at,
            ship_lag_seconds=lag,
            queues={queue: {} for queue in self._queues} | self._work(),
            serves=self._serves,
            takes_mail=self._takes_mail,
            state=self._state(),
        )
        async with self._database.connection() as connection:
            await workers.report(connection, row)
        if lag is not None:
            stats = await self._desk.stats(self._queues)
            empty = [one.queue for one in stats if one.queue in self._queues and not one.waiting]
            async with self._database.connection() as connection:
                await workers.saw_empty(connection, empty)

    async def _leave(self) -> None:
        async with self._database.connection() as connection:
            await workers.leave(connection, self._id)

    async def _try(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except TRANSIENT_ERRORS as lost:
            logger.warning("heartbeat.write_deferred", reason=str(lost))
        except Exception:
            logger.exception("heartbeat.write_failed")
