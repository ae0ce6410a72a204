"""Stop a process on signals: cancel what is still starting, and let what runs finish its work."""

import asyncio
import signal
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Self


class StopSignals:
    """Stop the block on SIGTERM, SIGINT, or SIGHUP unless that is ignored (nohup).

    Until `wait` is called, the first signal cancels the block, as `asyncio.timeout` does: what
    is half started is closed, and the block ends without an exception. Then `wait` returns with
    the first signal, and the block finishes its work.

    After the first signal, SIGTERM and SIGHUP are ignored until the process has ended, so that
    they do not kill it while it cleans up. A second Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self._came = asyncio.Event()
        self._starting = True
        self._cancelling: int | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        # Not the loop's own handlers: a closed loop restores the default actions, and the next
        # signal would kill a process that is still cleaning up.
        signal.signal(signal.SIGTERM, self._handle)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._handle)
        self._loop.add_signal_handler(signal.SIGINT, self._stop)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self._starting = False
        self._loop.remove_signal_handler(signal.SIGINT)
        if self._cancelling is None:
            return False
        only_ours = self._task.uncancel() <= self._cancelling
        return only_ours and kind is asyncio.CancelledError

    async def wait(self) -> None:
        """Return when a signal has come."""
        self._starting = False
        await self._came.wait()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: it has stopped
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._came.is_set():
            return
        self._came.set()
        self._loop.remove_signal_handler(signal.SIGINT)
        if self._starting:
            self._cancelling = self._task.cancelling()
            self._task.cancel()
