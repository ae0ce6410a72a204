"""What a worker looks after now and then, beside its queues."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import structlog

from server.messaging.job_broker import BrokerUnavailableError
from server.transactions import KeepsChangingError
from storage.database import RETRYABLE_ERRORS

logger = structlog.get_logger(__name__)

PASSING: Final = (*RETRYABLE_ERRORS, BrokerUnavailableError, KeepsChangingError)
"""What ends by itself."""


async def now_and_then(
    look: Callable[[], Awaitable[object]],
    *,
    what: str,
    seconds: float,
    first_seconds: float | None = None,
    passing: tuple[type[Exception], ...] = PASSING,
) -> NoReturn:
    """Look until cancelled: after `first_seconds`, and then again and again.

    Pauses are up to half shorter than said, so that processes do not do it in step. Whatever
    goes wrong is logged and tried again the next time: it ends nobody else's work. What is
    passing is told once, until a look succeeds.
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
