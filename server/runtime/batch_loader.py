"""Batch concurrent lookups into one query: after a restart all queues return within a second."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar

Key = TypeVar("Key")
Found = TypeVar("Found")

MAX_BATCH_KEYS: Final = 200
WOKEN_AT_ONCE: Final = 16
"""Keys whose waiters are resumed before other tasks run."""


class BatchLoader(Generic[Key, Found]):
    """Load values by key, in batches: calls during a query share the next one.

    A value is always loaded after the call for it. `read` loads many keys at once; an exception of
    it is raised to every caller of the batch.
    """

    def __init__(self, read: Callable[[Sequence[Key]], Awaitable[Mapping[Key, Found]]]) -> None:
        self._read = read
        self._wanted: dict[Key, list[asyncio.Future[Found | None]]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key: Key) -> Found | None:
        """The value of the key; None if there is none."""
        asking: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
        self._wanted.setdefault(key, []).append(asking)
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_all())
        return await asking

    async def _read_all(self) -> None:
        try:
            while self._wanted:
                keys = list(islice(self._wanted, MAX_BATCH_KEYS))
                await self._read_some({key: self._wanted.pop(key) for key in keys})
        finally:
            self._reading = None

    async def _read_some(self, wanted: Mapping[Key, "list[asyncio.Future[Found | None]]"]) -> None:
        found: Mapping[Key, Found] = {}
        error: Exception | None = None
        try:
            found = await self._read(list(wanted))
        except Exception as raised:  # noqa: BLE001 - raised to the callers
            error = raised
        except BaseException:
            for asking in wanted.values():
                for each in asking:
                    each.cancel()
            raise
        for number, (key, asking) in enumerate(wanted.items(), 1):
            for each in asking:
                if each.done():  # the caller was cancelled
                    continue
                if error is None:
                    each.set_result(found.get(key))
                else:
                    each.set_exception(error)
            if number % WOKEN_AT_ONCE == 0:
                await asyncio.sleep(0)
