"""Those who have waited and ask in the same instant, thousands of them: read some at a time."""

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from server.transport.connection import Connection

MANY: Final = 32
"""As many may ask once round the loop; if so many do, the others are held."""
NEXT: Final = 16
"""Who are held no longer, each time the loop goes round."""


class ReadThrottle:
    """Holds those who would ask in one round of the loop with too many others.

    The loop reads each socket that is ready before it goes round again, so of thousands that are
    ready it would serve nobody else meanwhile. Of a socket that is not read it only notes that.
    Held are those who are expected: who wait for an answer cost nothing, however many they are.
    """

    def __init__(self) -> None:
        self._expected: dict[Connection, None] = {}
        self._held: OrderedDict[Connection, None] = OrderedDict()
        self._asked = 0
        """In this round of the loop."""

    def expects(self, connection: "Connection") -> None:
        """It is new, or its answer came late, perhaps with those of many: now it may ask."""
        self._expected[connection] = None

    def asks(self, connection: "Connection") -> None:
        """One of those who were expected has said something."""
        self._expected.pop(connection, None)
        if not self._asked and not self._held:
            asyncio.get_running_loop().call_soon(self._go_round)
        self._asked += 1
        if self._asked == MANY:
            # Each is looked at once, until it may ask again: thousands come in many rounds.
            expected, self._expected = self._expected, {}
            self._held.update((each, None) for each in expected if each.hold())

    def forget(self, connection: "Connection") -> None:
        """It asks nothing more."""
        self._expected.pop(connection, None)
        self._held.pop(connection, None)

    def _go_round(self) -> None:
        self._asked = 0
        for _ in range(min(NEXT, len(self._held))):
            connection, _ = self._held.popitem(last=False)
            self.expects(connection)
            connection.read_more()
        if self._held:
            asyncio.get_running_loop().call_soon(self._go_round)
