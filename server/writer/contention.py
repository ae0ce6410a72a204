"""Find out whether other processes write to a realm at the same time."""

import math
from typing import Final

from storage.ids import Position

WINDOW_SECONDS: Final = 0.1
"""How long to count before comparing."""
MOST_WINDOW_SECONDS: Final = 0.5
"""Over a longer time, the writes of others were not at the same time."""


class Contention:
    """Compares how far the clock has advanced with what one process has written."""

    def __init__(self) -> None:
        self.has_rivals = False
        self._since = -math.inf
        self._start = Position(0)
        self._own = 0

    def note(self, now: float, position: Position, own: int, in_flight: int) -> None:
        """Note a commit: its last position, and how many positions this process has used in it.

        `in_flight` of them may be used already by writes of this process without a result.
        """
        self._own += own
        elapsed = now - self._since
        if elapsed < WINDOW_SECONDS:
            return
        others = position - self._start - self._own
        self.has_rivals = others > in_flight and elapsed < MOST_WINDOW_SECONDS
        self._since, self._start, self._own = now, position, 0
