"""The only module that reads the system's clock, so that tests can control it."""

import time
from datetime import UTC, datetime
from typing import Final, Protocol

LAST_SECOND: Final = 253_402_300_799
"""End of the year 9999 in Unix time: no later moment has a date."""


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the present moment, aware, in UTC. For display and records, never for order."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary origin that never go back.

        For durations and timeouts.
        """
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
