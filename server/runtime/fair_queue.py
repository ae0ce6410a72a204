"""Fair turns at something that serves one caller at a time: the lightest user goes first."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

HALF_LIFE_SECONDS: Final = 10.0
"""After so long, half of what a key has used is forgotten."""
FORGOTTEN_SECONDS: Final = 0.001
"""A key that has used less than this is as good as new."""
MANY_KEYS: Final = 1_000
"""With more than so many, those that are as good as new are dropped."""


class FairQueue:
    """A lock with fair queueing: the key that has used least of late is served first.

    Work that takes long gives way between its parts: a key that keeps the resource busy, by however
    many callers, then delays any other by one part.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._is_taken = False
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self._used: dict[Hashable, tuple[float, float]] = {}
        """By key: seconds used, and when that was so."""

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator["QueueTurn"]:
        """Hold the resource for the time of the block; its time is charged to the key."""
        await self._acquire(key)
        turn = QueueTurn(self, key, self._monotonic())
        try:
            yield turn
        finally:
            if turn.is_held:
                self.charge(turn)
                self._release()

    def used(self, key: Hashable) -> float:
        """How many seconds the key has used of late."""
        seconds, when = self._used.get(key, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._monotonic() - when) / HALF_LIFE_SECONDS))

    async def give_way(self, turn: "QueueTurn") -> None:
        """Yield to waiters with a key that has used less by now, if there are any."""
        self.charge(turn)
        if any(self.used(key) < self.used(turn.key) for key in self._waiting):
            turn.is_held = False
            self._release()
            await self._acquire(turn.key)
            turn.is_held, turn.since = True, self._monotonic()

    def charge(self, turn: "QueueTurn") -> None:
        """Charge the turn's key for the time since it began, or was charged last."""
        now = self._monotonic()
        self._used[turn.key] = (self.used(turn.key) + now - turn.since, now)
        turn.since = now
        if len(self._used) > MANY_KEYS:
            self._used = {k: v for k, v in self._used.items() if self.used(k) > FORGOTTEN_SECONDS}

    async def _acquire(self, key: Hashable) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # granted, and cancelled before it could run
                self._release()
            raise

    def _release(self) -> None:
        while self._waiting:
            key = min(self._waiting, key=self.used)
            granted = self._waiting[key].popleft()
            if not self._waiting[key]:
                del self._waiting[key]
            if not granted.done():
                granted.set_result(None)
                return
        self._is_taken = False


class QueueTurn:
    """A turn that a caller has."""

    def __init__(self, turns: FairQueue, key: Hashable, since: float) -> None:
        self._turns = turns
        self.key = key
        self.since = since
        """Up to then the key was charged."""
        self.is_held = True

    async def give_way(self) -> None:
        """Go on at once, or after the waiters with a key that has used less by now."""
        await self._turns.give_way(self)
