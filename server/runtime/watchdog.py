"""Watchdog of the event loop: how long it is blocked, and by what.

While one callback runs, every other task of the process waits. A periodic task measures by how much
it is late; a thread, which still runs, logs the stack of what blocks the loop.
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
"""Interval of the task: shorter blocks may be missed."""
NOTED_SECONDS: Final = 0.01
"""Delay from which on the loop counts as blocked; less is the system's scheduling."""
REPORTED_SECONDS: Final = 0.1
"""Delay from which on the stack is logged."""
LOOK_SECONDS: Final = 0.05
BETWEEN_REPORTS_SECONDS: Final = 1.0
"""Minimum interval of log lines."""
MAX_FRAMES: Final = 25


class LoopWatchdog:
    """Measure blocks of the loop that runs `run`, and log long ones.

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
        """When the task is due next."""
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
