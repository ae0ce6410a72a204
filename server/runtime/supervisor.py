"""Supervise N server processes that share listening sockets: start, restart, drain."""

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 10.0

HEALTHY_SECONDS = 30.0
"""A process that ran this long did not fail at its start, and is restarted at once."""

GRACE_SECONDS = 5.0
"""Grace period beyond a process's own deadline before it is killed."""

LIFELINE_OPTION = "--lifeline"
SOCKETS_OPTION = "--sockets"


@dataclass(slots=True)
class _Child:
    """A process slot, and the process in it."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0
    failures: int = 0


@dataclass(slots=True)
class Supervisor:
    """Keep `count` processes of a command running until SIGTERM or SIGINT.

    Each is executed, not forked. It inherits the sockets, and a pipe whose end of file means that
    the supervisor is gone: then it drains by itself.
    """

    command: Sequence[str]
    sockets: Sequence[socket.socket]
    count: int
    drain_seconds: float
    report: Callable[[str], None] = lambda _: None
    _children: list[_Child] = field(default_factory=list)
    _stopping: bool = False

    def run(self) -> None:
        """Return when all processes have ended after a signal to stop."""
        lifeline, our_end = os.pipe()
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        os.set_blocking(wake, False)
        before_wakeup = signal.set_wakeup_fd(waker)
        before = {
            number: signal.signal(number, handler)
            for number, handler in (
                (signal.SIGTERM, self._stop),
                (signal.SIGINT, self._stop),
                (signal.SIGCHLD, _ignore),
            )
        }
        self._children = [_Child(number) for number in range(self.count)]
        try:
            while not self._stopping:
                self._start_missing(lifeline)
                _wait(wake, self._next_deadline())
                self._collect()
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before_wakeup)
            for descriptor in (lifeline, our_end, wake, waker):
                os.close(descriptor)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _start_missing(self, lifeline: int) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.process is None and child.start_again_at <= now:
                child.process = self._spawn(lifeline)
                child.started_at = now
                self.report(f"server process {child.process.pid} started")

    def _spawn(self, lifeline: int) -> subprocess.Popen[bytes]:
        descriptors = [opened.fileno() for opened in self.sockets]
        inherited = ",".join(map(str, descriptors))
        return subprocess.Popen(
            [*self.command, LIFELINE_OPTION, str(lifeline), SOCKETS_OPTION, inherited],
            pass_fds=(lifeline, *descriptors),
        )

    def _collect(self) -> None:
        """Reap ended processes, and schedule their restarts."""
        now = time.monotonic()
        for child in self._children:
            if child.process is None or child.process.poll() is None:
                continue
            ran = now - child.started_at
            child.failures = 0 if ran > HEALTHY_SECONDS else child.failures + 1
            pause = _pause(child.failures)
            self.report(
                f"server process {child.process.pid} ended ({child.process.returncode})"
                f" after {ran:.0f} s; the next starts in {pause:.1f} s"
            )
            child.process = None
            child.start_again_at = now + pause

    def _next_deadline(self) -> float | None:
        """The end of the next pause; None to wait for a signal only."""
        waiting = [child.start_again_at for child in self._children if child.process is None]
        return min(waiting, default=None)

    def _end_all(self) -> None:
        for opened in self.sockets:
            opened.close()  # connections must not queue at a socket that is not accepted from again
        running = [child.process for child in self._children if child.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + self.drain_seconds + GRACE_SECONDS
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.report(f"server process {process.pid} did not end and is killed")
                process.kill()
                process.wait()


def _pause(failures: int) -> float:
    """Pause before a restart: none after a long run, else exponential backoff."""
    if failures == 0:
        return 0.0
    return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1))


def _wait(wake: int, deadline: float | None) -> None:
    """Sleep until a signal arrives or the deadline is reached."""
    timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
    readable, _, _ = select.select([wake], [], [], timeout)
    if readable:
        os.read(wake, 4096)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Only wake up."""
