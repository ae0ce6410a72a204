"""The server processes of one parent: what they share, and channels between them."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from server.runtime.connection_counts import ConnectionShare, shared_counts

logger = structlog.get_logger(__name__)

MAX_DATAGRAM_BYTES: Final = 128 * 1024
READ_AT_ONCE: Final = 32
"""Datagrams that are read before other tasks run."""

Handler = Callable[[int, bytes], None]
"""Takes the number of the sender, and the body of a datagram."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """One of several server processes that one parent has started.

    Each has an inbox, a socket of datagrams, to which the others write. The parent holds both ends
    open, so a process that is started again finds what was sent meanwhile, as far as the buffer
    goes: a datagram that does not fit is refused at once. Only processes that inherited a
    descriptor can write to it.
    """

    share: ConnectionShare
    inbox: socket.socket
    outboxes: Mapping[int, socket.socket]
    """The inboxes of the others to write to, by their numbers."""

    @property
    def number(self) -> int:
        return self.share.number

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that the process has to inherit."""
        return (
            self.share.counts.descriptor,
            self.inbox.fileno(),
            *(outbox.fileno() for outbox in self.outboxes.values()),
        )

    def describe(self) -> str:
        """Return this as an argument of a command that inherits the descriptors."""
        outboxes = [f"{number}:{outbox.fileno()}" for number, outbox in self.outboxes.items()]
        return " ".join([self.share.describe(), str(self.inbox.fileno()), *outboxes])

    @classmethod
    def parse(cls, described: str) -> "Sibling":
        """Return what the parent process has described."""
        share, inbox, *outboxes = described.split(" ")
        pairs = [map(int, each.split(":")) for each in outboxes]
        return cls(
            ConnectionShare.parse(share),
            _channel(int(inbox)),
            {number: _channel(descriptor) for number, descriptor in pairs},
        )


@contextmanager
def sibling_processes(processes: int) -> Iterator[Sequence[Sibling]]:
    """Make what so many processes share, for each of them."""
    with ExitStack() as stack:
        counts = stack.enter_context(shared_counts(processes))
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(processes)]
        for end in (end for pair in pairs for end in pair):
            stack.enter_context(end)
            end.setblocking(False)
        yield [
            Sibling(
                ConnectionShare(counts, number),
                pairs[number][0],
                {other: pairs[other][1] for other in range(processes) if other != number},
            )
            for number in range(processes)
        ]


def _channel(descriptor: int) -> socket.socket:
    opened = socket.socket(fileno=descriptor)
    opened.setblocking(False)
    return opened


def _sent(outbox: socket.socket, datagram: bytes) -> bool:
    if len(datagram) > MAX_DATAGRAM_BYTES:
        return False
    try:
        outbox.send(datagram)
    except OSError:
        return False
    return True


class SiblingChannels:
    """Exchange datagrams with the siblings. Each kind, a byte, has one handler.

    A datagram arrives once and in the order of its sender, or not at all: it is lost with the
    process that has not read it yet, and refused by an inbox that is full.
    """

    def __init__(self, sibling: Sibling) -> None:
        self._sibling = sibling
        self._handlers: dict[int, Handler] = {}

    @property
    def number(self) -> int:
        """The number of this process."""
        return self._sibling.number

    def accepting(self) -> list[int]:
        """Return the processes that accept connections, in order."""
        return self._sibling.share.counts.accepting()

    def handle(self, kind: int, handler: Handler) -> None:
        """Have datagrams of this kind handled. An exception is logged."""
        self._handlers[kind] = handler

    def send(self, number: int, kind: int, body: bytes) -> bool:
        """Send to one of the others; return whether it fits into the inbox."""
        return _sent(self._sibling.outboxes[number], self._datagram(kind, body))

    def broadcast(self, kind: int, body: bytes) -> None:
        """Send to all other processes with room in their inboxes."""
        datagram = self._datagram(kind, body)
        for outbox in self._sibling.outboxes.values():
            _sent(outbox, datagram)

    def _datagram(self, kind: int, body: bytes) -> bytes:
        return b"%c%c%b" % (kind, self.number, body)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle what arrives while the block runs."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._sibling.inbox, self._receive)
        try:
            yield
        finally:
            loop.remove_reader(self._sibling.inbox)

    def _receive(self) -> None:
        for _ in range(READ_AT_ONCE):
            try:
                datagram = self._sibling.inbox.recv(MAX_DATAGRAM_BYTES)
            except BlockingIOError:
                return
            try:
                self._handlers[datagram[0]](datagram[1], datagram[2:])
            except Exception:
                logger.exception("siblings.datagram_failed", kind=datagram[:1])
