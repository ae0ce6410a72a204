"""Watches the event loop: how long it is blocked, and by what.

Everything that a process serves waits while one callback runs. A beat on the loop measures by how
much it comes late; a thread beside it, which still runs, logs the stack of what is in its way.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog

logger = structlog.get_logger(__name__)

BEAT_SECONDS: Final = 0.02
"""Between two beats: what blocks the loop for less may go unseen."""
NOTED_SECONDS: Final = 0.01
"""A beat that is later than this was blocked; what is less is the system's own."""
REPORTED_SECONDS: Final = 0.1
"""After so long the stack is logged."""
LOOK_SECONDS: Final = 0.05
BETWEEN_REPORTS_SECONDS: Final = 1.0
"""Between two lines: a flooded log hides what it has."""
MAX_FRAMES: Final = 25


class LoopWatchdog:
    """Measures the loop that runs `run`, and reports on it.

    `blocked` is called on the loop with the length of each block, at most `beat_seconds` short.
    """

    def __init__(
        self,
        blocked: Callable[[float], None],
        *,
        beat_seconds: float = BEAT_SECONDS,
        noted_seconds: float = NOTED_SECONDS,
        reported_seconds: float = REPORTED_SECONDS,
    ) -> None:
        self._blocked = blocked
        self._beat_seconds = beat_seconds
        self._noted_seconds = noted_seconds
        self._reported_seconds = reported_seconds
        self._due = 0.0
        """When the next beat is to come."""
        self._thread_id = 0
        self._is_over = threading.Event()

    async def run(self) -> None:
        """Watch until cancelled."""
        self._thread_id = threading.get_ident()
        self._is_over.clear()
        with self._reporting():
            while True:
                self._due = time.monotonic() + self._beat_seconds
                await asyncio.sleep(self._beat_seconds)
                late = time.monotonic() - self._due
                if late >= self._noted_seconds:
                    self._blocked(late)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        self._due = time.monotonic() + self._beat_seconds
        reporter = threading.Thread(target=self._report, name="loop watchdog", daemon=True)
        reporter.start()
        try:
            yield
        finally:
            self._is_over.set()
            reporter.join()

    def _report(self) -> None:
        """In a thread: log each block once, while it lasts."""
        reported_due, reported_at = 0.0, float("-inf")
        while not self._is_over.wait(LOOK_SECONDS):
            now, due = time.monotonic(), self._due
            is_news = due != reported_due and now - reported_at >= BETWEEN_REPORTS_SECONDS
            if now - due >= self._reported_seconds and is_news:
                reported_due, reported_at = due, now
                logger.warning(
                    "event_loop.blocked",
                    seconds=round(now - due, 3),
                    stack=self._stack(),
                )

    def _stack(self) -> str:
        """Where the loop's thread is now, outermost call first."""
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 - there is no other way
        if frame is None:
            return ""
        return "".join(traceback.format_stack(frame)[-MAX_FRAMES:])
