"""What every transport keeps to, and how it is started and stopped."""

import socket
import ssl
from collections.abc import Sequence
from typing import Final, Protocol

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_AHEAD_BYTES: Final = 4 * 1024
"""How much is read of what was asked before its turn: in memory it takes many times as much."""
IDLE_SECONDS: Final = 120.0
"""How long a connection may be silent between two requests."""
HEAD_SECONDS: Final = 30.0
"""How long the head of a request may take once it has begun."""
BODY_SECONDS: Final = 300.0
"""How long its body may take, where the endpoint says nothing else."""
PIECE_SECONDS: Final = 30.0
"""How long it may be until the next piece of it comes; Tornado's server knows of no such limit."""
HANDSHAKE_SECONDS: Final = 30.0
"""How long a client may take to agree on a cipher."""
STALLED_SECONDS: Final = 60.0
"""How long a client may take nothing of what is sent to it,"""
STALLED_BYTES: Final = 64 * 1024
"""or less than this, where there is more."""
PIECES_AT_ONCE: Final = 256
"""Pieces of a body that are read before others are served."""


class TransportServer(Protocol):
    """Owns sockets, and begins an exchange for each request that comes on them."""

    async def start(
        self, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None = None
    ) -> None:
        """Listen; with `tls`, for HTTPS alone."""
        ...

    def stop(self) -> None:
        """Take no new connections; those that are there stay."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
