"""The server under test: the embedded one, as `parley run` starts it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

from storage.embedded import running_url
from testkit.free_ports import free_port

PARLEY = Path(sys.executable).parent / "parley"
START_SECONDS = 60


class Server:
    """A running server, its data, and its processes."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        self._log = log
        self._environment = {**os.environ, **(environment or {})}  # noqa: TID251
        # An installed Parley is compiled; tests may not want to leave that behind.
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.port = free_port()
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Seconds from the command to the first answered request."""
        started = time.perf_counter()
        command = [str(PARLEY), "run", "--port", str(self.port), "--data", str(self.data)]
        with Path(os.devnull if self._log is None else self._log).open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--rate-limits", "off", *self._arguments],
                stdout=log,
                stderr=log,
                env=self._environment,
            )
        wait_for_answer(self._process, self.port)
        return time.perf_counter() - started

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)
            self._process = None

    def kill(self) -> None:
        """End the serving process at once, as `kill -9` does; its Postgres goes on."""
        assert self._process is not None
        self._process.kill()
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
        """MiB (PSS) of the server and its Postgres, shared pages counted once."""
        return sum(self.pss_mib_by_part())

    def pss_mib_by_part(self) -> tuple[float, float]:
        """The same of the server's processes, and of those of its Postgres."""
        assert self._process is not None
        parent = psutil.Process(self._process.pid)
        postgres = {p for p in psutil.process_iter() if _belongs_to(p, self.data)}
        servers = {parent, *parent.children(recursive=True)} - postgres
        return sum(map(pss, servers)) / 1024, sum(map(pss, postgres)) / 1024

    def cpu_seconds(self) -> float:
        """Processor seconds of the serving process so far."""
        assert self._process is not None
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def database_cpu_seconds(self) -> float:
        """The same of its Postgres, with those of its processes that have ended."""
        assert self._process is not None
        total = 0.0
        for process in psutil.process_iter():
            if _belongs_to(process, self.data):
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    total += times.user + times.system
                    total += times.children_user + times.children_system
        return total

    def rss_kib(self) -> int:
        """KiB (RSS) of the serving process alone."""
        assert self._process is not None
        rss: int = psutil.Process(self._process.pid).memory_info().rss
        return rss // 1024


def wait_for_answer(process: subprocess.Popen[bytes], port: int) -> None:
    """Return once the process answers on the port; raises if it ends, or takes too long."""
    started = time.perf_counter()
    while True:
        try:
            url = f"http://127.0.0.1:{port}/api/v1/server_settings"
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            if time.perf_counter() - started > START_SECONDS or process.poll() is not None:
                raise
            time.sleep(0.005)


def _belongs_to(process: psutil.Process, data: Path) -> bool:
    try:
        return process.name() == "postgres" and str(data) in " ".join(
            process.cmdline() + [p for a in process.parents() for p in a.cmdline()]
        )
    except psutil.Error:
        return False


def pss(process: psutil.Process) -> int:
    """KiB of the process, what it shares divided among those who share it."""
    try:
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except (OSError, psutil.Error):
        return 0
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


@contextmanager
def temporary_data() -> Iterator[Path]:
    """A temporary directory that the user of Postgres may reach."""
    data = Path(tempfile.mkdtemp(prefix="parley-benchmark-"))
    data.chmod(0o755)
    try:
        yield data / "data"
    finally:
        shutil.rmtree(data, ignore_errors=True)


@contextmanager
def running(
    *arguments: str, log: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A fresh server, which has just made its first organization; `log` gets what it tells."""
    with temporary_data() as data:
        server = Server(data, *arguments, log=log, environment=environment)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def load_average() -> float:
    return os.getloadavg()[0]
