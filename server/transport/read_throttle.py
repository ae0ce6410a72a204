"""Limit of how many waiting connections are read in one iteration of the event loop."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from server.transport.connection import HttpConnection

MAX_PER_ITERATION: Final = 32
"""Requests of expected connections in one iteration; from there on the other ones are held."""
RELEASED_PER_ITERATION: Final = 16
"""Held connections that are released in each iteration."""


class ReadThrottle:
    """Pause reading on connections that would send a request at the same moment as many others.

    The event loop reads every socket that is ready before it starts the next iteration: with
    thousands ready, nothing else would run meanwhile. A socket that is not read costs it nothing.
    Only expected connections are held; those that wait for a response are free of charge.
    """

    def __init__(self) -> None:
        self._expected: dict[HttpConnection, None] = {}
        self._held: OrderedDict[HttpConnection, None] = OrderedDict()
        self._arrived = 0
        """Requests in this iteration of the loop."""

    def expect(self, connection: "HttpConnection") -> None:
        """Expect a request: the connection is new, or its response came late, as many others'."""
        self._expected[connection] = None

    def request_arrived(self, connection: "HttpConnection") -> None:
        """Count data of an expected connection, and hold the others when there is too much."""
        self._expected.pop(connection, None)
        if not self._arrived and not self._held:
            asyncio.get_running_loop().call_soon(self._next_iteration)
        self._arrived += 1
        if self._arrived == MAX_PER_ITERATION:
            # Each is considered once until it is expected again: thousands take many iterations.
            expected, self._expected = self._expected, {}
            self._held.update((each, None) for each in expected if each.hold())

    def forget(self, connection: "HttpConnection") -> None:
        """Drop a connection that is closed."""
        self._expected.pop(connection, None)
        self._held.pop(connection, None)

    def _next_iteration(self) -> None:
        self._arrived = 0
        for _ in range(min(RELEASED_PER_ITERATION, len(self._held))):
            connection, _ = self._held.popitem(last=False)
            self.expect(connection)
            connection.read_more()
        if self._held:
            asyncio.get_running_loop().call_soon(self._next_iteration)
