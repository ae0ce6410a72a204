"""Opening the sockets that a server listens on, or saying in a sentence why not."""

import errno
import os
import socket
from contextlib import suppress

BACKLOG = 4096
"""Connections that may wait to be accepted: after a restart all clients come at once.

As many as Linux allows by itself (net.core.somaxconn)."""

LAST_PORT = 65_535
PORTS = 64
"""Processes of one machine that find a port each."""


class ListenError(Exception):
    """The address cannot be listened on; the message is one sentence."""


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Sockets for every address of the host name. Port 0 takes one that is free."""
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
        )
    except (socket.gaierror, UnicodeError) as error:
        raise ListenError(f"The host {host} is not known here: choose another.") from error
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            wanted = (address[0], port, *address[2:])
            sockets.append(_listen(family, wanted))
            port = sockets[-1].getsockname()[1]
    except OSError as error:
        for opened in sockets:
            opened.close()
        raise ListenError(_explain(error, host, port)) from error
    return sockets


def first_free(host: str, wanted: int) -> list[socket.socket]:
    """Sockets on this port, or on one of those that follow; after the last comes any.

    Raises ListenError if none is free.
    """
    for port in range(wanted, min(wanted + PORTS, LAST_PORT + 1)):
        with suppress(ListenError):
            return open_sockets(host, port)
    if wanted + PORTS > LAST_PORT:
        return open_sockets(host, 0)
    return open_sockets(host, wanted)  # and say why not


def port_of(sockets: list[socket.socket]) -> int:
    """The port that the sockets listen on, which they share."""
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


def _explain(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is used by another program: choose another with --port."
    if error.errno == errno.EACCES:
        return f"Port {port} is only for root: choose one above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"This machine does not have the address {host}: choose another with --host."
    reason = os.strerror(error.errno) if error.errno else str(error)
    return f"Parley cannot listen on {host}, port {port}: {reason}."
