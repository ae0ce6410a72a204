"""The one place that asks the machine for the time, so that tests can decide it."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware, in UTC. For people and for records, never for order."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin that never go back. For durations and deadlines."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
