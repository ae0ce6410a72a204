"""Runs queue processors and the shipper, in a process of their own or beside the server."""

import asyncio
from collections.abc import Sequence
from typing import Any

from queue_processors.log_keeper import LogKeeper
from queue_processors.registry import AnyProcessor
from queue_processors.shipper import Shipper
from server.messaging.job_broker import JobBroker


async def run(
    app: Any,
    broker: JobBroker,
    processors: Sequence[AnyProcessor],
    *,
    shipper: Shipper | None = None,
    log_keeper: LogKeeper | None = None,
) -> None:
    """Work until cancelled; then each processor finishes what it has in hand."""
    async with asyncio.TaskGroup() as group:
        if shipper is not None:
            group.create_task(shipper.run())
        if log_keeper is not None:
            group.create_task(log_keeper.run())
        for processor in processors:
            group.create_task(processor.run(app, broker))
