"""A lane: one sandboxed process, with fair queueing and a timeout for callers."""

import asyncio
from collections.abc import Hashable
from typing import Final

import structlog

from server.runtime.fair_queue import FairQueue
from server.runtime.sandbox import Worker, WorkerDiedError

logger = structlog.get_logger(__name__)

WALL_SECONDS: Final = 60.0
"""Timeout of one request, including the wait for others."""


class TooCostlyError(Exception):
    """The request has exceeded its limit of processor time or memory."""


class ParserUnavailableError(Exception):
    """The process could not start, was terminated, or is too busy."""


class Lane:
    """Starts its process at the first request."""

    def __init__(self, module: str, *, wall_seconds: float = WALL_SECONDS) -> None:
        self._module = module
        self._worker = Worker(module)
        self._turns = FairQueue()
        self._wall_seconds = wall_seconds

    async def ask(self, request: bytes, *, share: Hashable) -> bytes:
        """Return the response. Raises TooCostlyError, ParserUnavailableError."""
        try:
            async with asyncio.timeout(self._wall_seconds), self._turns.turn(share):
                return await self._worker.ask(request)
        except TimeoutError:
            raise ParserUnavailableError from None
        except WorkerDiedError as death:
            logger.warning("parser.process_died", module=self._module, status=death.returncode)
            raise (TooCostlyError if death.is_of_the_request else ParserUnavailableError) from None

    async def close(self) -> None:
        """Terminate the process."""
        async with self._turns.turn(None):
            await self._worker.end()
