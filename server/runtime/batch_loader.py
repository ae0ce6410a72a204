"""Reading together what many ask for at once: after a restart all queues come back in a second."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar

Key = TypeVar("Key")
Found = TypeVar("Found")

AT_ONCE: Final = 200
WOKEN_AT_ONCE: Final = 16
"""Keys whose askers go on with what was found, before others are served."""


class BatchLoader(Generic[Key, Found]):
    """While one reading is under way, others gather for the next, which reads for all of them.

    Whoever asks gets what was read after they had asked. `read` finds many by their keys; what it
    raises everybody gets for whom it read.
    """

    def __init__(self, read: Callable[[Sequence[Key]], Awaitable[Mapping[Key, Found]]]) -> None:
        self._read = read
        self._wanted: dict[Key, list[asyncio.Future[Found | None]]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key: Key) -> Found | None:
        """What there is by this key."""
        asking: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
        self._wanted.setdefault(key, []).append(asking)
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_all())
        return await asking

    async def _read_all(self) -> None:
        try:
            while self._wanted:
                keys = list(islice(self._wanted, AT_ONCE))
                await self._read_some({key: self._wanted.pop(key) for key in keys})
        finally:
            self._reading = None

    async def _read_some(self, wanted: Mapping[Key, "list[asyncio.Future[Found | None]]"]) -> None:
        found: Mapping[Key, Found] = {}
        error: Exception | None = None
        try:
            found = await self._read(list(wanted))
        except Exception as raised:  # noqa: BLE001 - theirs for whom it was read
            error = raised
        except BaseException:
            for asking in wanted.values():
                for each in asking:
                    each.cancel()
            raise
        for number, (key, asking) in enumerate(wanted.items(), 1):
            for each in asking:
                if each.done():  # who asked has gone
                    continue
                if error is None:
                    each.set_result(found.get(key))
                else:
                    each.set_exception(error)
            if number % WOKEN_AT_ONCE == 0:
                await asyncio.sleep(0)
