"""Ports for processes that open them later."""

import random
import socket
from contextlib import suppress
from typing import Final

PORTS: Final = range(10_000, 32_000)
"""Below those that connections get from the system: none takes one before the process does."""


def free_port() -> int:
    """Return a port of loopback on which nothing listens."""
    while True:
        port = random.choice(PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
