"""Limits that every transport enforces, and its interface."""

import socket
import ssl
from collections.abc import Sequence
from typing import Final, Protocol

from server.runtime.connection_counts import ConnectionShare

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_AHEAD_BYTES: Final = 4 * 1024
"""Bytes of pipelined requests that are parsed: parsed, they take many times the memory."""
IDLE_SECONDS: Final = 120.0
"""Maximum idle time between two requests."""
HEAD_SECONDS: Final = 30.0
"""Maximum time for the head of a request, from its first byte."""
BODY_SECONDS: Final = 300.0
"""Maximum time for its body, unless the exchange sets another."""
PIECE_SECONDS: Final = 30.0
"""Maximum time between two parts of a body. Not enforced by Tornado's server."""
HANDSHAKE_SECONDS: Final = 30.0
"""Maximum time for a TLS handshake."""
STALLED_SECONDS: Final = 60.0
"""Maximum time in which a client may read less than STALLED_BYTES of its response."""
STALLED_BYTES: Final = 64 * 1024
PIECES_AT_ONCE: Final = 256
"""Parts of a body that are read before other tasks run."""


class TransportServer(Protocol):
    """An HTTP server that begins an exchange for each request."""

    async def start(
        self,
        sockets: Sequence[socket.socket],
        tls: ssl.SSLContext | None = None,
        share: ConnectionShare | None = None,
    ) -> None:
        """Listen on the sockets; with `tls`, for HTTPS only.

        Where several processes accept on them, `share` is what this one may take.
        """
        ...

    def stop(self) -> None:
        """Accept no new connections; keep the existing ones."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
