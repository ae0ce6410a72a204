"""Reading together what many ask for at once: after a restart all queues come back in a second."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar

Key = TypeVar("Key")
Found = TypeVar("Found")

AT_ONCE: Final = 200


class Gathering(Generic[Key, Found]):
    """While one reading is under way, others gather for the next, which reads for all of them.

    Whoever asks gets what was read after they had asked. `read` finds many by their keys; what it
    raises everybody gets for whom it read.
    """

    def __init__(self, read: Callable[[Sequence[Key]], Awaitable[Mapping[Key, Found]]]) -> None:
        self._read = read
        self._wanted: dict[Key, asyncio.Future[Found | None]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key: Key) -> Found | None:
        """What there is by this key."""
        wanted = self._wanted.get(key)
        if wanted is None:
            wanted = self._wanted[key] = asyncio.get_running_loop().create_future()
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_all())
        return await asyncio.shield(wanted)  # whoever asked first may go; others wait for it

    async def _read_all(self) -> None:
        try:
            while self._wanted:
                keys = list(islice(self._wanted, AT_ONCE))
                await self._read_some({key: self._wanted.pop(key) for key in keys})
        finally:
            self._reading = None

    async def _read_some(self, wanted: Mapping[Key, "asyncio.Future[Found | None]"]) -> None:
        try:
            found = await self._read(list(wanted))
        except BaseException as error:
            for future in wanted.values():
                if isinstance(error, Exception):
                    future.set_exception(error)
                    future.exception()  # nobody may wait for it any more
                else:
                    future.cancel()
            if not isinstance(error, Exception):
                raise
        else:
            for key, future in wanted.items():
                future.set_result(found.get(key))
