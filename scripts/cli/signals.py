"""Signals to a command that has something to put away before it ends."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], None] | signal.Handlers


@contextmanager
def stopped_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, unless they are ignored (nohup)."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    wanted = [each for each in ENDING[1:] if signal.getsignal(each) is not signal.SIG_IGN]
    with _handled_by(stop, wanted):
        yield


@contextmanager
def in_peace() -> Iterator[None]:
    """Let nobody who is impatient cut the block off."""
    with _handled_by(signal.SIG_IGN, ENDING):
        yield


@contextmanager
def _handled_by(handler: Handler, numbers: Sequence[signal.Signals]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are none of its business
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
