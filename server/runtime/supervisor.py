"""N server processes on one port: opened once, inherited, respawned, drained together."""

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
"""Whoever ran so long did not fail at its start, and is started again at once."""

GRACE_SECONDS = 5.0
"""What a process may take beyond its own deadline before it is killed."""

LIFELINE_OPTION = "--lifeline"
SOCKETS_OPTION = "--sockets"


@dataclass(slots=True)
class _Child:
    """One of the places for a process, and who fills it now."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0
    failures: int = 0


@dataclass(slots=True)
class Supervisor:
    """Keeps `count` processes of a command running until SIGTERM or SIGINT.

    Each is executed anew, not forked, and is told the numbers of the inherited sockets, and of
    a pipe whose end of file means that this process is gone: then it drains by itself.
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
        """Notice who ended, and decide when to start a successor."""
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
        """When a pause ends; None where only a signal can bring news."""
        waiting = [child.start_again_at for child in self._children if child.process is None]
        return min(waiting, default=None)

    def _end_all(self) -> None:
        for opened in self.sockets:
            opened.close()  # so that nobody queues at a door that will not open again
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
    """Nothing for who ran long, then longer and longer."""
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
    """Be woken, and nothing else."""
