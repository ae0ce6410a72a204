"""Run periodic tasks of a worker."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import structlog

from server.messaging.job_broker import BrokerUnavailableError
from server.transactions import KeepsChangingError
from storage.database import RETRYABLE_ERRORS

logger = structlog.get_logger(__name__)

TRANSIENT_ERRORS: Final = (*RETRYABLE_ERRORS, BrokerUnavailableError, KeepsChangingError)
"""Transient errors."""


async def now_and_then(
    look: Callable[[], Awaitable[object]],
    *,
    what: str,
    seconds: float,
    first_seconds: float | None = None,
    passing: tuple[type[Exception], ...] = TRANSIENT_ERRORS,
) -> NoReturn:
    """Run a task until cancelled: after `first_seconds`, then once in each interval.

    Intervals are shortened by a random half at most, so that processes do not run in step. An error
    is logged and the task is retried at its next turn; a transient error is logged once until the
    task succeeds.
    """
    pause = seconds if first_seconds is None else first_seconds
    is_told = False
    while True:
        await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load
        pause = seconds
        try:
            await look()
        except passing as error:
            if not is_told:
                logger.warning("periodic.deferred", task=what, error=str(error))
            is_told = True
        except Exception:
            logger.exception("periodic.failed", task=what)
        else:
            is_told = False
