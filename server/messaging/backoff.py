"""Growing pauses between attempts to connect."""

import asyncio
from random import SystemRandom
from typing import Any, Protocol

FIRST_SECONDS = 0.05  # a broker that only restarted should be found at once
LONGEST_SECONDS = 5.0

_random = SystemRandom()


class Logger(Protocol):
    def warning(self, event: str, **facts: Any) -> Any: ...


class Backoff:
    """Pauses that double, with jitter so that processes do not come back in step."""

    def __init__(self, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def tell(self, logger: Logger, what: str, **facts: object) -> None:
        """Log a failure: the first since something has succeeded; the others are the same."""
        if self._next == self._first:
            logger.warning(what, **facts)

    def succeeded(self) -> None:
        """Start over: the next failure is a new one."""
        self._next = self._first

    async def pause(self) -> None:
        """Wait between half and all of the present pause, and let the next one be longer."""
        await asyncio.sleep(self._next * _random.uniform(0.5, 1.0))
        self._next = min(self._next * 2, self._longest)
