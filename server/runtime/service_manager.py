"""The protocols of systemd for services: notifications of a process, and sockets passed to it.

See sd_notify(3) and sd_listen_fds(3): plain environment variables, which containers and other
service managers use as well.
"""

import asyncio
import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Final, Self

from server.runtime.sockets import BACKLOG, ListenError

FIRST_PASSED: Final = 3
"""The descriptor of the first socket that is passed; others follow."""
MICROSECONDS: Final = 1_000_000
SEND_SECONDS: Final = 1.0
"""Longest wait for a manager that reads late. Only the start and the end are worth it."""


class ServiceNotifier:
    """Sends the state of this process to its service manager, if there is one.

    A manager that is gone, or too busy to receive, is ignored.
    """

    def __init__(
        self, channel: socket.socket | None = None, watchdog_seconds: float | None = None
    ) -> None:
        self._channel = channel
        self.watchdog_seconds = watchdog_seconds if channel is not None else None
        """The manager restarts the process if it is silent for that long; None: it does not."""

    @classmethod
    def take(cls) -> Self:
        """Return the notifier that the environment describes.

        Removes its variables: processes that this one starts are not the service.
        """
        environ = os.environ  # noqa: TID251 - no setting of ours
        path = environ.pop("NOTIFY_SOCKET", "")
        seconds = _watchdog_seconds(environ)
        if not path.startswith(("/", "@")):
            return cls()
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            # An abstract address, which systemd writes with an @, begins with a zero.
            channel.connect(path.replace("@", "\0", 1) if path.startswith("@") else path)
        except OSError:
            channel.close()
            return cls()
        return cls(channel, seconds)

    @classmethod
    def of_child(cls, descriptor: int | None, watchdog_seconds: float | None) -> Self:
        """Return the notifier of a process that a supervisor has started."""
        if descriptor is None:
            return cls()
        return cls(socket.socket(fileno=descriptor), watchdog_seconds)

    def ready(self, status: str) -> None:
        """Report that the process has started; the status is one line for operators."""
        self._send(SEND_SECONDS, "READY=1", f"STATUS={status}")

    def stopping(self) -> None:
        """Report that the process finishes its work and ends."""
        self._send(SEND_SECONDS, "STOPPING=1", "STATUS=Finishing its work.")

    def alive(self) -> None:
        """Report that the process is not stuck."""
        self._send(0, "WATCHDOG=1")

    async def beat(self) -> None:
        """Report that the event loop is not stuck, often enough for the watchdog, until cancelled.

        Returns at once without a watchdog.
        """
        while self.watchdog_seconds is not None:
            self.alive()
            await asyncio.sleep(self.watchdog_seconds / 2)

    def _send(self, seconds: float, *assignments: str) -> None:
        """Send, and wait for at most so long until the manager has room."""
        if self._channel is not None:
            self._channel.settimeout(seconds)
            with suppress(OSError):
                self._channel.send("\n".join(assignments).encode())


def _watchdog_seconds(environ: MutableMapping[str, str]) -> float | None:
    """Return the period; None if there is none, or if it is that of another process."""
    period, process = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
    if process not in ("", str(os.getpid())) or not period.isdecimal() or int(period) == 0:
        return None
    return int(period) / MICROSECONDS


def take_passed_sockets() -> list[socket.socket]:
    """Return the listening sockets that the service manager has passed, none if it has not.

    Removes the variables that describe them. Raises ListenError for what is no listening TCP
    socket.
    """
    environ = os.environ  # noqa: TID251 - no setting of ours
    count, process = environ.pop("LISTEN_FDS", ""), environ.pop("LISTEN_PID", "")
    environ.pop("LISTEN_FDNAMES", None)
    if process != str(os.getpid()) or not count.isdecimal():
        return []
    return [_passed(number) for number in range(FIRST_PASSED, FIRST_PASSED + int(count))]


def _passed(descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        passed = socket.socket(fileno=descriptor)
        is_listening = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise ListenError(
            f"The service manager has passed descriptor {descriptor}, which is no socket:"
            f" {error.strerror}."
        ) from error
    if passed.family not in (socket.AF_INET, socket.AF_INET6) or not is_listening:
        raise ListenError(
            f"The service manager has passed descriptor {descriptor}, which does not listen on a"
            " TCP port: use ListenStream= with a port, and Accept=no."
        )
    passed.listen(BACKLOG)  # again, with as many connections as those that we open
    passed.setblocking(False)
    return passed
