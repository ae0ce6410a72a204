"""Timer wheel: many deadlines that are mostly cancelled, with a single timer of the loop."""

import asyncio
from functools import partial
from typing import Final, Protocol

from server.runtime.scheduler import CooperativeScheduler

TURN_SECONDS: Final = 0.0005
"""To close a connection takes the loop ten times as long as to ask it for that."""


class Expiring(Protocol):
    """An object with at most one deadline."""

    due: int
    """The second of its deadline; 0 without one. Only `TimerWheel` changes it."""

    def expired(self) -> None: ...


class TimerWheel:
    """Deadlines with a resolution of one second: up to a second late, never early.

    Callbacks of thousands that expire in the same second run in time slices.
    """

    def __init__(self) -> None:
        self._by_second: dict[int, tuple[int, dict[Expiring, None]]] = {}
        """Keyed by the second, which all its objects share as one int.

        A dictionary as an ordered set: it takes half of a set's memory.
        """
        self._looked_at = 0
        self._timer: asyncio.TimerHandle | None = None
        self._turns = CooperativeScheduler(TURN_SECONDS)

    def set(self, one: Expiring, seconds: float) -> None:
        """Set its deadline, in seconds from now."""
        self.clear(one)
        loop = asyncio.get_running_loop()
        now = loop.time()
        second = int(now + seconds) + 1
        one.due, waiting = self._by_second.setdefault(second, (second, {}))
        waiting[one] = None
        if self._timer is None:
            self._looked_at = int(now)
            self._timer = loop.call_later(1, self._look)

    def clear(self, one: Expiring) -> None:
        """Remove its deadline."""
        if one.due:
            _, waiting = self._by_second.get(one.due, (0, None))
            if waiting is not None:
                del waiting[one]
            one.due = 0

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = int(loop.time())
        for second in range(self._looked_at + 1, now + 1):
            _, ending = self._by_second.pop(second, (0, None))
            if ending:
                self._turns.add(partial(self._end_next, second, ending))
        self._looked_at = max(now, self._looked_at)
        self._timer = loop.call_later(1, self._look) if self._by_second else None

    def _end_next(self, second: int, ending: dict[Expiring, None]) -> None:
        one, _ = ending.popitem()
        if ending:
            self._turns.add(partial(self._end_next, second, ending))
        if one.due == second:  # and was not set or cleared in the meantime
            one.due = 0
            one.expired()
