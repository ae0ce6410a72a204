"""Cache of results by address: each is fetched once, for all concurrent callers."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Memory(Generic[T]):
    """`look` fetches a result, and returns the seconds that it is valid. It raises nothing."""

    look: Callable[[str], Awaitable[tuple[T, float]]]
    monotonic: Callable[[], float]
    capacity: int
    """Maximum size; the least recently used is evicted."""
    weigh: Callable[[T], int] = lambda _: 1
    weight: int = field(default=0, init=False)
    _known: OrderedDict[str, tuple[float, T]] = field(default_factory=OrderedDict, init=False)
    _coming: dict[str, asyncio.Future[T]] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def coming(self) -> int:
        """Return the number of running fetches."""
        return len(self._coming)

    def knows(self, url: str) -> bool:
        """Return whether `find` returns from the cache, or joins a running fetch."""
        return url in self._coming or self._fresh(url) is not None

    async def find(self, url: str) -> T:
        known = self._fresh(url)
        if known is not None:
            self._known.move_to_end(url)
            return known[1]
        if url not in self._coming:
            coming = asyncio.ensure_future(self._found(url))
            self._coming[url] = coming
            coming.add_done_callback(lambda done: self._arrived(url, done))
        return await asyncio.shield(self._coming[url])

    def _fresh(self, url: str) -> tuple[float, T] | None:
        known = self._known.get(url)
        return known if known is not None and self.monotonic() < known[0] else None

    def _arrived(self, url: str, done: asyncio.Future[T]) -> None:
        del self._coming[url]
        if not done.cancelled():
            done.exception()  # belongs to those who still wait, if any

    async def _found(self, url: str) -> T:
        found, seconds = await self.look(url)
        self.remember(url, found, seconds)
        return found

    def remember(self, url: str, found: T, seconds: float) -> None:
        self._forget(url)
        self._known[url] = (self.monotonic() + seconds, found)
        self.weight += self.weigh(found)
        while self.weight > self.capacity:
            self._forget(next(iter(self._known)))

    def _forget(self, url: str) -> None:
        known = self._known.pop(url, None)
        if known is not None:
            self.weight -= self.weigh(known[1])
