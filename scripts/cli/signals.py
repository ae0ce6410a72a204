"""Signals to a command that has something to put away before it ends."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Let the first signal that ends a program interrupt the block, and nothing after it.

    Whoever is impatient must not cut off what the block puts away. What is ignored stays so: a
    script's background job does not hear Ctrl-C, and one with nohup no SIGHUP.
    """
    if not _is_main_thread():
        yield  # signals are none of its business
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        in_peace()
        signal.default_int_handler(number, frame)

    heard = [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, interrupt) for each in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def in_peace() -> None:
    """From now on, until the block of `interrupted_once` has ended, no signal interrupts it."""
    if _is_main_thread():
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
