"""What a connection of our own server needs of the server."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from server.api.wire import Exchange, Wire
from server.runtime.scheduler import CooperativeScheduler
from server.runtime.timer_wheel import TimerWheel
from server.transport.read_throttle import ReadThrottle

if TYPE_CHECKING:
    from server.transport.connection import Connection


class Keeper(Protocol):
    """The server that a connection belongs to."""

    deadlines: TimerWheel
    crowd: ReadThrottle
    """Of which those are who may ask with many others."""
    turns: CooperativeScheduler
    """In which is read on what takes long."""

    def begin(self, wire: Wire) -> Exchange:
        """The next exchange of a connection."""
        ...

    def admit(self, connection: "Connection", transport: asyncio.Transport) -> bool:
        """Whether there is room for it; if not, it has been told."""
        ...

    def may_linger(self, connection: "Connection") -> bool:
        """Whether it may wait until its client has heard the last answer."""
        ...

    def forget(self, connection: "Connection") -> None:
        """It is no more."""
        ...
