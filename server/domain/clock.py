"""The one place that asks the machine for the time, so that tests can decide it."""

import time
from datetime import UTC, datetime
from typing import Final, Protocol

LAST_SECOND: Final = 253_402_300_799
"""Of the year 9999, since 1970: no later moment has a date."""


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the present moment, aware, in UTC. For people and for records, never for order."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin that never go back. For durations and deadlines."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
