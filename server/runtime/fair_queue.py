"""Fair queueing for a resource that serves one caller at a time."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

HALF_LIFE_SECONDS: Final = 10.0
"""Half-life of the recorded use of a key."""
FORGOTTEN_SECONDS: Final = 0.001
"""Recorded use below which a key may be dropped."""
MANY_KEYS: Final = 1_000
"""Number of keys from which on those are dropped."""


class FairQueue:
    """A lock with fair queueing: the key with the least recent use is served first.

    Long work yields between its parts: a key that keeps the resource busy, with any number of
    callers, then delays another by one part at most.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._is_taken = False
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self._used: dict[Hashable, tuple[float, float]] = {}
        """By key: seconds used, and the time of that value."""

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator["QueueTurn"]:
        """Hold the resource during the block; the time is charged to the key."""
        await self._acquire(key)
        turn = QueueTurn(self, key, self._monotonic())
        try:
            yield turn
        finally:
            if turn.is_held:
                self.charge(turn)
                self._release()

    def used(self, key: Hashable) -> float:
        """Recent use of the key in seconds, with exponential decay."""
        seconds, when = self._used.get(key, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._monotonic() - when) / HALF_LIFE_SECONDS))

    async def give_way(self, turn: "QueueTurn") -> None:
        """Yield to waiters whose key has used less, if there are any."""
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
    """The resource as held by one caller."""

    def __init__(self, turns: FairQueue, key: Hashable, since: float) -> None:
        self._turns = turns
        self.key = key
        self.since = since
        """Time up to which the key has been charged."""
        self.is_held = True

    async def give_way(self) -> None:
        """Yield to waiters whose key has used less; without any, continue at once."""
        await self._turns.give_way(self)
