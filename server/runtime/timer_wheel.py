"""Many deadlines that come to nothing mostly, with one timer for all of them."""

import asyncio
from functools import partial
from typing import Final, Protocol

from server.runtime.scheduler import CooperativeScheduler

TURN_SECONDS: Final = 0.0005
"""To close a connection takes the loop ten times as long as to ask it for that."""


class Expiring(Protocol):
    """Something with one deadline at most."""

    due: int
    """The second in which it ends; 0 for none. Only `TimerWheel` writes it after the start."""

    def expired(self) -> None: ...


class TimerWheel:
    """To the second: a deadline is kept up to a second too late, and never early.

    Thousands that end in one second do so in turns with everything else.
    """

    def __init__(self) -> None:
        self._by_second: dict[int, tuple[int, dict[Expiring, None]]] = {}
        """With the second itself, so that all that end in it share one number.

        A dictionary for a set: it takes half of the memory.
        """
        self._looked_at = 0
        self._timer: asyncio.TimerHandle | None = None
        self._turns = CooperativeScheduler(TURN_SECONDS)

    def set(self, one: Expiring, seconds: float) -> None:
        """From now on its deadline is in so many seconds."""
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
        """It has no deadline any more."""
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
        if one.due == second:  # and has not been set or cleared while others had their turn
            one.due = 0
            one.expired()
