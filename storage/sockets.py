"""Readiness of database connections, by one epoll per event loop."""

import asyncio
import select
from contextlib import suppress
from typing import ClassVar, Final, Self
from weakref import WeakKeyDictionary

from psycopg.waiting import READY_R, READY_RW, READY_W, WAIT_W, Ready, Wait

_READ: Final = select.EPOLLIN
_READY: Final = {select.EPOLLIN: READY_R, select.EPOLLOUT: READY_W}
"""Other events, such as the end of a connection, wake both readers and writers."""


class Sockets:
    """Reports which connections of an event loop are readable or writable.

    Registering for each answer costs more than most answers, so connections stay registered, in an
    epoll of our own: a descriptor that libpq closes unasked when the other end is gone vanishes
    from it by itself. The loop's selector would fail on that.
    """

    _of_loops: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Self]] = WeakKeyDictionary()

    @classmethod
    def of_this_loop(cls) -> Self:
        """Return the instance of the running event loop."""
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
        """Wait until the descriptor is ready. `owner` identifies it, because numbers are reused."""
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
        """Unregister a closed descriptor; wake its waiter."""
        if self._owners.get(descriptor) is owner:
            del self._owners[descriptor]
            self._resolve(self._waiting.get(descriptor), READY_RW)

    def _watch(self, descriptor: int) -> None:
        try:
            self._epoll.register(descriptor, _READ)
        except FileExistsError:
            self._epoll.modify(descriptor, _READ)

    def _wake(self) -> None:
        for descriptor, events in self._epoll.poll(0):
            waiter = self._waiting.get(descriptor)
            if waiter is None:  # a goodbye: the next caller finds out
                self._owners.pop(descriptor, None)
                with suppress(OSError):
                    self._epoll.unregister(descriptor)
            else:
                self._resolve(waiter, _READY.get(events, READY_RW))

    @staticmethod
    def _resolve(waiter: asyncio.Future[Ready] | None, ready: Ready) -> None:
        if waiter is not None and not waiter.done():
            waiter.set_result(ready)
