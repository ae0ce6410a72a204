"""Open the sockets that a server listens on, or explain in a sentence why not."""

import errno
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

BACKLOG = 4096
"""Connections that may wait to be accepted: after a restart all clients come at once.

The default limit of Linux (net.core.somaxconn).
"""

EVERYWHERE_4 = "0.0.0.0"  # noqa: S104 - who says so wants that
EVERYWHERE_6 = "::"
NO_SUCH_FAMILY = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
LOOPBACK_OF = {EVERYWHERE_4: "127.0.0.1", EVERYWHERE_6: "::1"}
"""Where to connect, on the same machine, to a server that listens everywhere."""

LAST_PORT = 65_535
PORTS = 64
"""Number of ports that are tried, for several processes of a machine."""


class Choices(NamedTuple):
    """The options or settings that decide where to listen."""

    host: str
    port: str


OPTIONS = Choices("--host", "--port")


class ListenError(Exception):
    """The address cannot be listened on; the message is one sentence."""


def open_sockets(host: str, port: int, *, chosen_by: Choices = OPTIONS) -> list[socket.socket]:
    """Open sockets for every address of the host name. Port 0 takes a free one.

    `::` is every address of the machine, those of IPv4 too, if it has any. Raises ListenError,
    which says by what options or settings another place is `chosen_by`.
    """
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
        )
    except (socket.gaierror, UnicodeError) as error:
        raise ListenError(
            f"The host {host} is not known here: choose another with {chosen_by.host}."
        ) from error
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            wanted = (address[0], port, *address[2:])
            sockets.append(_listen(family, wanted))
            port = sockets[-1].getsockname()[1]
        if host == EVERYWHERE_6:
            # A socket of its own: one for both would report clients at IPv4-mapped IPv6 addresses,
            # which differ from those of limits and of trusted proxies.
            with _without(*NO_SUCH_FAMILY):
                sockets.append(_listen(socket.AF_INET, (EVERYWHERE_4, port)))
    except OSError as error:
        for opened in sockets:
            opened.close()
        raise ListenError(_explain(error, host, port, chosen_by)) from error
    return sockets


def first_free(host: str, wanted: int) -> list[socket.socket]:
    """Open sockets on this port, or on one of those that follow; after the last on any.

    Raises ListenError if none is free.
    """
    for port in range(wanted, min(wanted + PORTS, LAST_PORT + 1)):
        with suppress(ListenError):
            return open_sockets(host, port)
    if wanted + PORTS > LAST_PORT:
        return open_sockets(host, 0)
    return open_sockets(host, wanted)  # and say why not


def port_of(sockets: Sequence[socket.socket]) -> int:
    """Return the port that the sockets listen on, which they share."""
    return int(sockets[0].getsockname()[1])


def _listen(family: int, address: tuple[object, ...]) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
        opened.listen(BACKLOG)
        opened.setblocking(False)
    except OSError:
        opened.close()
        raise
    return opened


@contextmanager
def _without(*numbers: int) -> Iterator[None]:
    """Ignore these errors of the system."""
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise


def _explain(error: OSError, host: str, port: int, chosen_by: Choices) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is used by another program:"
            f" choose another with {chosen_by.port}."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} is only for root: choose one above 1023 with {chosen_by.port}."
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            f"This machine does not have the address {host}: choose another with {chosen_by.host}."
        )
    reason = os.strerror(error.errno) if error.errno else str(error)
    return f"Parley cannot listen on {host}, port {port}: {reason}."
