"""Which connections to the database have something to read."""

import asyncio
import select
from contextlib import suppress
from typing import ClassVar, Final, Self
from weakref import WeakKeyDictionary

from psycopg.waiting import READY_R, READY_RW, READY_W, WAIT_W, Ready, Wait

_READ: Final = select.EPOLLIN
_READY: Final = {select.EPOLLIN: READY_R, select.EPOLLOUT: READY_W}
"""What else there is, as the end of a connection, both reading and writing find out."""


class Sockets:
    """Tells which connections of a loop have something to read, or may write.

    To begin and to end watching for each answer costs more than most answers, so it goes on
    between them: in an epoll of our own, from which a descriptor that libpq closes, as it does
    unasked when the other end is gone, vanishes by itself. The loop would trip over that.
    """

    _of_loops: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Self]] = WeakKeyDictionary()

    @classmethod
    def of_this_loop(cls) -> Self:
        """Return those of the running loop."""
        loop = asyncio.get_running_loop()
        found = cls._of_loops.get(loop)
        if found is None:
            found = cls._of_loops[loop] = cls()
        return found

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._owners: dict[int, object] = {}
        self._waiting: dict[int, asyncio.Future[Ready]] = {}
        asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._wake)

    async def ready(self, descriptor: int, owner: object, wanted: Wait) -> Ready:
        """Wait until one may go on. `owner`: whose descriptor it is, for numbers are used again."""
        if self._owners.get(descriptor) is not owner:
            self._watch(descriptor)
            self._owners[descriptor] = owner
        if wanted & WAIT_W:
            self._epoll.modify(descriptor, _READ | select.EPOLLOUT)
        waiter = self._waiting[descriptor] = asyncio.get_running_loop().create_future()
        try:
            ready: Ready = await waiter
        finally:
            del self._waiting[descriptor]
            if wanted & WAIT_W and self._owners.get(descriptor) is owner:
                self._epoll.modify(descriptor, _READ)
        return ready

    def leave(self, descriptor: int, owner: object) -> None:
        """It is closed: who waits for it finds out."""
        if self._owners.get(descriptor) is owner:
            del self._owners[descriptor]
            self._tell(self._waiting.get(descriptor), READY_RW)

    def _watch(self, descriptor: int) -> None:
        try:
            self._epoll.register(descriptor, _READ)
        except FileExistsError:
            self._epoll.modify(descriptor, _READ)

    def _wake(self) -> None:
        for descriptor, events in self._epoll.poll(0):
            waiter = self._waiting.get(descriptor)
            if waiter is None:  # a goodbye: whoever asks next finds out
                self._owners.pop(descriptor, None)
                with suppress(OSError):
                    self._epoll.unregister(descriptor)
            else:
                self._tell(waiter, _READY.get(events, READY_RW))

    @staticmethod
    def _tell(waiter: asyncio.Future[Ready] | None, ready: Ready) -> None:
        if waiter is not None and not waiter.done():
            waiter.set_result(ready)
