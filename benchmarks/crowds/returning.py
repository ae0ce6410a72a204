"""Thousands who come within a second, each on a connection of its own, and ask once.

They share the processors with the server, so they are no more than their sockets: a loop with a
transport, a protocol and a task for each would take a third of what the server takes.
"""

import re
import select
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.crowds.crowd import SOURCES

WITHIN_SECONDS: Final = 1.0
AT_ONCE: Final = 64
"""Connections that are begun before answers are looked for."""
_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_LATE_BIND: Final = getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24)
"""The kernel chooses the port when it knows where to, so each address has all ports again."""


@dataclass(slots=True)
class Answers:
    """The results of a process of clients."""

    seconds: list[float] = field(default_factory=list)
    """From connecting to the last byte of the answer."""
    arrived: list[float] = field(default_factory=list)
    """When each answer to a client that waits was there."""
    statuses: Counter[int] = field(default_factory=Counter)
    lost: int = 0
    processor_seconds: float = 0.0
    late_seconds: float = 0.0
    """How much later than planned a client began, at most."""

    @property
    def refused(self) -> int:
        """Answers by which the server said that it could not."""
        return sum(n for status, n in self.statuses.items() if status >= 500)

    def add(self, other: "Answers") -> None:
        self.seconds += other.seconds
        self.arrived += other.arrived
        self.statuses += other.statuses
        self.lost += other.lost
        self.processor_seconds += other.processor_seconds
        self.late_seconds = max(self.late_seconds, other.late_seconds)


class _Asking:
    """One of them."""

    __slots__ = ("began", "buffer", "opened", "request")

    def __init__(self, port: int, number: int, request: bytes) -> None:
        self.opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.opened.setsockopt(socket.IPPROTO_IP, _LATE_BIND, 1)
        self.opened.bind((f"127.0.1.{1 + number % SOURCES}", 0))
        self.request = request
        self.buffer = b""
        self.began = time.perf_counter()
        self.opened.connect_ex(("127.0.0.1", port))

    def go_on(self, event: int) -> int:
        """The status, once all of the answer is there; 0 before. Raises OSError."""
        if self.request and event & select.EPOLLOUT:
            self.opened.send(self.request)
            self.request = b""
        if not event & ~select.EPOLLOUT:
            return 0
        data = self.opened.recv(65_536)
        if not data:
            raise ConnectionResetError
        self.buffer += data
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head) if end else None
        if length is None or len(body) < int(length[1]):
            return 0
        return int(head.split(b" ", 2)[1])


def come(port: int, requests: Sequence[bytes], begin: float, patience_seconds: float) -> Answers:
    """Connect and ask, evenly over the second that begins then."""
    found, before = Answers(), time.process_time()
    asking: dict[int, _Asking] = {}
    begun, end = 0, begin + patience_seconds
    with select.epoll() as looking:
        while (begun < len(requests) or asking) and time.perf_counter() < end:
            for _ in range(AT_ONCE):
                late = time.perf_counter() - begin - WITHIN_SECONDS * begun / len(requests)
                if begun == len(requests) or late < 0:
                    break
                one = _Asking(port, begun, requests[begun])
                asking[one.opened.fileno()] = one
                looking.register(one.opened, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
                found.late_seconds = max(found.late_seconds, late)
                begun += 1
            for number, event in looking.poll(_pause(begun, len(requests), begin)):
                one = asking[number]
                try:
                    status = one.go_on(event)
                except BlockingIOError:
                    continue
                except OSError:
                    found.lost += 1
                else:
                    if not status:
                        continue
                    found.seconds.append(time.perf_counter() - one.began)
                    found.statuses[status] += 1
                del asking[number]
                one.opened.close()
    found.lost += len(asking)
    found.processor_seconds = time.process_time() - before
    return found


def _pause(begun: int, people: int, begin: float) -> float:
    """Until the next one is to come; a second when all have."""
    if begun == people:
        return 1.0
    return max(0.0, begin + WITHIN_SECONDS * begun / people - time.perf_counter())
