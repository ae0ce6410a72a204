"""The loop of a sandboxed worker: reads requests from its input until that ends, and responds.

The processor time of a request is limited by a timer with a fatal signal: a regular expression that
backtracks for ever holds the interpreter, and no Python code would run any more.
"""

import os
import resource
import select
import signal
import struct
import sys
from collections.abc import Callable
from typing import Final, TypeVar

Request = TypeVar("Request")

HEADER: Final = struct.Struct("!I")
"""Length of the following frame, on either pipe of a worker."""

IDLE_SECONDS: Final = 600
PIECE_BYTES: Final = 1 << 20


def serve(
    decode: Callable[[bytes], Request],
    answer: Callable[[Request], bytes],
    *,
    cpu_seconds: Callable[[Request], float],
    memory_bytes: int,
) -> None:
    """Serve requests until the input ends, or none comes for `IDLE_SECONDS`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.fileno(), sys.stdout.buffer
    while select.select([requests], [], [], IDLE_SECONDS)[0]:
        header = _read(requests, HEADER.size)
        if not header:
            return
        request = decode(_read(requests, *HEADER.unpack(header)))
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds(request))
        answered = answer(request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(HEADER.pack(len(answered)))
        answers.write(answered)
        answers.flush()


def _read(stream: int, count: int) -> bytes:
    """Return so many bytes, or none if the stream has ended."""
    received = bytearray()
    while len(received) < count:
        more = os.read(stream, min(count - len(received), PIECE_BYTES))
        if not more:
            return b""
        received += more
    return bytes(received)
