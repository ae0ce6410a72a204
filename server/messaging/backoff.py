"""Growing pauses between attempts to connect."""

import asyncio
from random import SystemRandom
from typing import Any, Protocol

MIN_PAUSE_SECONDS = 0.05  # a broker that only restarted should be found at once
MAX_PAUSE_SECONDS = 5.0

_random = SystemRandom()


class Logger(Protocol):
    def warning(self, event: str, **fields: Any) -> Any: ...


class Backoff:
    """Pauses that double, with jitter so that processes do not come back in step."""

    def __init__(
        self, first: float = MIN_PAUSE_SECONDS, longest: float = MAX_PAUSE_SECONDS
    ) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def log_once(self, logger: Logger, event: str, **fields: object) -> None:
        """Log a warning for the first failure since the last success, and none for the others."""
        if self._next == self._first:
            logger.warning(event, **fields)

    def succeeded(self) -> None:
        """Start over: the next failure is a new one."""
        self._next = self._first

    async def pause(self) -> None:
        """Wait between half and all of the present pause, and let the next one be longer."""
        await asyncio.sleep(self._next * _random.uniform(0.5, 1.0))
        self._next = min(self._next * 2, self._longest)
