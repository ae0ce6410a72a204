"""Supervise N server processes that share listening sockets: start, restart, drain.

Each reports to the supervisor as a service does to systemd: that it is ready, and that it is not
stuck.
"""

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType

from server.runtime.service_manager import ServiceNotifier
from server.runtime.siblings import Sibling, sibling_processes

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 10.0

HEALTHY_SECONDS = 30.0
"""A process that ran this long did not fail at its start, and is restarted at once."""

GRACE_SECONDS = 5.0
"""Grace period beyond a process's own deadline before it is killed."""

LIFELINE_OPTION = "--lifeline"
SOCKETS_OPTION = "--sockets"
REPORTS_OPTION = "--reports"
WATCHDOG_OPTION = "--watchdog"
SIBLINGS_OPTION = "--siblings"

MAX_REPORT_BYTES = 4096
MAX_REPORTS = 16
"""Read from a process before the others have their turn."""


@dataclass(slots=True)
class _Child:
    """A process slot, and the process in it."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0
    failures: int = 0
    reports: socket.socket | None = None
    """Our end of the channel on which the process reports."""
    is_ready: bool = False
    heard_at: float = 0.0

    def hear(self, now: float) -> None:
        """Take note of what the process has reported."""
        assert self.reports is not None, "each process has a channel"
        for _ in range(MAX_REPORTS):
            try:
                report = self.reports.recv(MAX_REPORT_BYTES)
            except OSError:
                return
            self.heard_at = now
            self.is_ready = self.is_ready or b"READY=1" in report.splitlines()

    def forget(self) -> None:
        """Close the channel of a process that has ended."""
        self.process, self.is_ready = None, False
        if self.reports is not None:
            self.reports.close()
            self.reports = None


@dataclass(slots=True)
class Supervisor:
    """Keep `count` processes of a command running until SIGTERM or SIGINT.

    Each is executed, not forked. It inherits the sockets, what it shares with its siblings, and a
    pipe. The end of file of the pipe means that the supervisor is gone: then the process drains by
    itself.
    """

    command: Sequence[str]
    sockets: Sequence[socket.socket]
    count: int
    drain_seconds: float
    report: Callable[[str], None] = lambda _: None
    notifier: ServiceNotifier = field(default_factory=ServiceNotifier)
    """Hears that the service is ready once all processes are."""
    ready_status: str = ""
    _is_ready: bool = False
    _alive_at: float = 0.0
    """When the service manager is notified next that this process is not stuck."""
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
            with sibling_processes(self.count) as siblings:
                while not self._stopping:
                    self._start_missing(lifeline, siblings)
                    self._wait(wake)
                    self._collect(siblings)
                    self._watch()
        finally:
            self.notifier.stopping()
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before_wakeup)
            for descriptor in (lifeline, our_end, wake, waker):
                os.close(descriptor)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _start_missing(self, lifeline: int, siblings: Sequence[Sibling]) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.process is None and child.start_again_at <= now:
                child.process, child.reports = self._spawn(lifeline, siblings[child.number])
                child.started_at = now
                self.report(f"server process {child.process.pid} started as number {child.number}")

    def _spawn(
        self, lifeline: int, sibling: Sibling
    ) -> "tuple[subprocess.Popen[bytes], socket.socket]":
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        ours.setblocking(False)
        descriptors = [opened.fileno() for opened in self.sockets]
        options = [
            *(LIFELINE_OPTION, str(lifeline)),
            *(SOCKETS_OPTION, ",".join(map(str, descriptors))),
            *(REPORTS_OPTION, str(theirs.fileno())),
            *(SIBLINGS_OPTION, sibling.describe()),
        ]
        if self.notifier.watchdog_seconds is not None:
            options += [WATCHDOG_OPTION, str(self.notifier.watchdog_seconds)]
        with theirs:
            inherited = (lifeline, theirs.fileno(), *sibling.descriptors, *descriptors)
            process = subprocess.Popen([*self.command, *options], pass_fds=inherited)
        return process, ours

    def _collect(self, siblings: Sequence[Sibling]) -> None:
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
            child.forget()
            siblings[child.number].share.leave()
            child.start_again_at = now + pause

    def _watch(self) -> None:
        """Notify the service manager, and kill processes that have become silent.

        The next turn restarts them.
        """
        if not self._is_ready and all(child.is_ready for child in self._children):
            self._is_ready = True
            self.notifier.ready(self.ready_status)
        seconds = self.notifier.watchdog_seconds
        if seconds is None or not self._is_ready:
            return
        now = time.monotonic()
        if now >= self._alive_at:
            self._alive_at = now + seconds / 2
            self.notifier.alive()
        for child in self._children:
            if child.process and child.is_ready and now - child.heard_at > seconds:
                self.report(f"server process {child.process.pid} is stuck and is killed")
                child.process.kill()
                child.heard_at = now

    def _wait(self, wake: int) -> None:
        """Sleep until a signal or a report, the end of a pause, or the next notification."""
        now = time.monotonic()
        waits = [child.start_again_at - now for child in self._children if child.process is None]
        if self._is_ready and self.notifier.watchdog_seconds is not None:
            waits.append(self._alive_at - now)
        channels = {
            child.reports.fileno(): child for child in self._children if child.reports is not None
        }
        timeout = max(0.0, min(waits)) if waits else None
        readable, _, _ = select.select([wake, *channels], [], [], timeout)
        if wake in readable:
            os.read(wake, 4096)
        for channel, child in channels.items():
            if channel in readable:
                child.hear(time.monotonic())

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
        for child in self._children:
            child.forget()


def _pause(failures: int) -> float:
    """Pause before a restart: none after a long run, else exponential backoff."""
    if failures == 0:
        return 0.0
    return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1))


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Only wake up."""
