"""Handle signals in commands that clean up before they end."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Interrupt the block on the first terminating signal, and ignore all later ones.

    Further signals must not interrupt the clean-up, nor change how the process ends after it.
    Ignored signals stay ignored: those of a script's background job (Ctrl-C), and SIGHUP with
    nohup.
    """
    if not _is_main_thread():
        yield  # signals are none of its business
        return

    is_interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        in_peace()
        signal.default_int_handler(number, frame)

    heard = [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, interrupt) for each in heard}
    try:
        yield
    finally:
        if not is_interrupted:
            for number, handler in before.items():
                signal.signal(number, handler)


def in_peace() -> None:
    """Ignore signals from now on, until the block of `interrupted_once` ends by itself."""
    if _is_main_thread():
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
