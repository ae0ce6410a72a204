"""`parley serve` with several processes, on the database of a server that runs."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psutil

from benchmarks.server import PARLEY, Server, pss, wait_for_answer
from testkit.free_ports import free_port

CONNECTIONS: Final = 16
"""Of the pools of all of them: the private Postgres has room for 40 in all."""
MOST_OF_EACH: Final = 4


class Processes:
    """The processes of one `parley serve`."""

    def __init__(self, server: Server, count: int) -> None:
        self.port = free_port()
        self._server = server
        self._count = count
        self._environment = {
            **os.environ,  # noqa: TID251
            "DATABASE_URL": server.database_url,
            "PARLEY_DATABASE_POOL_SIZE": str(min(MOST_OF_EACH, CONNECTIONS // count)),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--port", str(self.port), "--rate-limits", "off"]
        self._process = subprocess.Popen(
            [str(PARLEY), "serve", "--processes", str(self._count), *options],
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_answer(self._process, self.port)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def cpu_seconds(self) -> float:
        """Processor seconds of all processes so far."""
        times = [each.cpu_times() for each in self._all()]
        return float(sum(each.user + each.system for each in times))

    def database_cpu_seconds(self) -> float:
        """The same of the database of the server beside which they run."""
        return self._server.database_cpu_seconds()

    def pss_mib(self) -> float:
        return sum(pss(each) for each in self._all()) / 1024

    def _all(self) -> list[psutil.Process]:
        assert self._process is not None
        parent = psutil.Process(self._process.pid)
        return [parent, *parent.children(recursive=True)]


@contextmanager
def processes(server: Server, count: int) -> Iterator[Processes]:
    serving = Processes(server, count)
    serving.start()
    try:
        yield serving
    finally:
        serving.stop()
