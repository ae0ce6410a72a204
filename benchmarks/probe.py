"""Send the same small request repeatedly, from a process of its own.

`python -m benchmarks.probe PORT` goes on until its input ends, and writes, as JSON, when each
answer came (by the clock that all processes of the machine share) and how long it took: what has
held the server's loop meanwhile.
"""

import json
import select
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Final, cast

REQUEST: Final = b"GET /api/v1/nothing-is-here HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAUSE_SECONDS: Final = 0.001


@dataclass(frozen=True, slots=True)
class Answer:
    """When it came, and how long it took."""

    at: float
    seconds: float


class Probe:
    """A probe that runs beside."""

    def __init__(self, port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.probe", str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answers(self) -> list[Answer]:
        """End it; all of them."""
        found = cast("list[list[float]]", json.loads(self._process.communicate()[0]))
        return [Answer(at, seconds) for at, seconds in found]


def main() -> None:
    """Ask until told to stop."""
    found = []
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
            begin = time.perf_counter()
            connection.sendall(REQUEST)
            connection.recv(4096)
            now = time.perf_counter()
            found.append((now, now - begin))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
