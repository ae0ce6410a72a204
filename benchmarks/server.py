"""The server under test: the embedded one, as `parley run` starts it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg

from storage.embedded import running_url

PARLEY = Path(sys.executable).parent / "parley"
START_SECONDS = 60


class Server:
    """A running server, its data, and its processes."""

    def __init__(self, data: Path, *arguments: str) -> None:
        self.data = data
        self.port = _free_port()
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Seconds from the command to the first answered request."""
        started = time.perf_counter()
        command = [str(PARLEY), "run", "--port", str(self.port), "--data", str(self.data)]
        self._process = subprocess.Popen(
            [*command, "--rate-limits", "off", *self._arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                url = f"http://127.0.0.1:{self.port}/api/v1/server_settings"
                with urllib.request.urlopen(url, timeout=5):
                    return time.perf_counter() - started
            except (urllib.error.URLError, OSError):
                if (
                    time.perf_counter() - started > START_SECONDS
                    or self._process.poll() is not None
                ):
                    raise
                time.sleep(0.005)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)
            self._process = None

    @property
    def database_url(self) -> str:
        url = running_url(self.data)
        assert url is not None
        return url

    def database(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.database_url, autocommit=True)

    def configure_postgres(self, *lines: str) -> None:
        """Add settings to the private Postgres, and let it read them."""
        cluster = self.data / "postgres"
        with (cluster / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        os.kill(int((cluster / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)

    def pss_mib(self) -> float:
        """Memory of the server and its Postgres, shared pages counted once."""
        assert self._process is not None
        parent = psutil.Process(self._process.pid)
        postgres = [p for p in psutil.process_iter() if _belongs_to(p, self.data)]
        every = {parent, *parent.children(recursive=True), *postgres}
        return sum(_pss(p) for p in every) / 1024

    def cpu_seconds(self) -> float:
        """What the serving process has used of the processors so far."""
        assert self._process is not None
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def rss_kib(self) -> int:
        """Memory of the serving process alone."""
        assert self._process is not None
        rss: int = psutil.Process(self._process.pid).memory_info().rss
        return rss // 1024


def _belongs_to(process: psutil.Process, data: Path) -> bool:
    try:
        return process.name() == "postgres" and str(data) in " ".join(
            process.cmdline() + [p for a in process.parents() for p in a.cmdline()]
        )
    except psutil.Error:
        return False


def _pss(process: psutil.Process) -> int:
    try:
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except (OSError, psutil.Error):
        return 0
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def temporary_data() -> Iterator[Path]:
    """A directory that whoever runs Postgres may reach, and that goes away afterwards."""
    data = Path(tempfile.mkdtemp(prefix="parley-benchmark-"))
    data.chmod(0o755)
    try:
        yield data / "data"
    finally:
        shutil.rmtree(data, ignore_errors=True)


@contextmanager
def running(*arguments: str) -> Iterator[Server]:
    """A fresh server, which has just made its first organization."""
    with temporary_data() as data:
        server = Server(data, *arguments)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def load_average() -> float:
    return os.getloadavg()[0]
