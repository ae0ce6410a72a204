"""Cooperative scheduling of many short callbacks: one message may wake thousands of polls."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

TURN_SECONDS: Final = 0.002
"""Maximum run time before other tasks of the loop run."""
BETWEEN_LOOKS: Final = 16
"""Callbacks between two checks of the time."""


class CooperativeScheduler:
    """Calls what is due soon, in its order; what one call raises keeps no other from its turn."""

    def __init__(self, turn_seconds: float = TURN_SECONDS) -> None:
        self._due: deque[Callable[[], None]] = deque()
        self._turn_seconds = turn_seconds

    def add(self, call: Callable[[], None]) -> None:
        """Call this soon."""
        if not self._due:
            asyncio.get_running_loop().call_soon(self._turn)
        self._due.append(call)

    def _turn(self) -> None:
        end = time.monotonic() + self._turn_seconds
        try:
            while self._due:
                for _ in range(min(BETWEEN_LOOKS, len(self._due))):
                    call = self._due[0]
                    try:
                        call()
                    finally:
                        self._due.popleft()
                if time.monotonic() > end:
                    break
        finally:
            if self._due:
                asyncio.get_running_loop().call_soon(self._turn)
