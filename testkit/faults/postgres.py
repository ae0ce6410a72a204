"""A private Postgres that can be restarted, crashed, and lose its backends."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import psycopg

from storage.embedded.account import choose_account
from storage.embedded.binaries import Binaries, find_binaries, reachable
from testkit.faults.processes import ended, kill_session, spawn
from testkit.free_ports import free_port

READY_SECONDS = 60.0
FAST = signal.SIGINT
IMMEDIATE = signal.SIGQUIT
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "fsync": "on",
    "synchronous_commit": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_min_messages": "fatal",
}


class PrivatePostgres:
    """A cluster in a directory of its own, on a free port of the loopback interface."""

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        binaries: Binaries | None = None,
    ) -> None:
        """`settings` are used instead of ours of the same names, from the next start on.

        Without `binaries`, they are the best that are installed.
        """
        self.settings = dict(settings or {})
        self._directory = directory
        self._cluster = directory / "postgres"
        self._account = choose_account(self._cluster)
        self._binaries = binaries or find_binaries()
        if self._account.first_closed(self._binaries.directory):
            self._binaries = reachable(self._binaries, self._account, beside=directory)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def url(self, port: int | None = None) -> str:
        """The address of the database, by way of another port if one is given."""
        return f"postgresql://postgres@127.0.0.1:{port or self.port}/postgres"

    def create(self) -> None:
        """Make the cluster."""
        self._cluster.mkdir(mode=0o700)
        self._account.own(self._cluster)
        self._run(
            [
                *(self._binaries["initdb"], "--pgdata", str(self._cluster)),
                *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"),
                *("--no-sync", "--no-instructions"),
            ]
        )

    def become_standby_of(self, primary: "PrivatePostgres") -> None:
        """Make the cluster a copy of another one, which is stopped, and let it follow that."""
        shutil.rmtree(self._cluster, ignore_errors=True)
        shutil.copytree(primary._cluster, self._cluster)
        (self._cluster / "standby.signal").touch()
        for path in (self._cluster, *self._cluster.rglob("*")):
            self._account.own(path)
        self.settings["primary_conninfo"] = (
            f"host=127.0.0.1 port={primary.port} user=postgres application_name=standby"
        )

    async def start(self) -> None:
        """Start it, and wait until it answers; what a crash has left in the way may take time."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                self._launch()
            if await asyncio.to_thread(self._answers):
                return
            await asyncio.sleep(0.05)
        raise TimeoutError("the private Postgres does not start")

    async def stop(self, number: int = FAST) -> None:
        """Stop it with a signal: FAST, IMMEDIATE, or SIGKILL for the postmaster alone."""
        assert self._process is not None
        self._process.send_signal(number)
        if not await ended(self._process):
            kill_session(self._process)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(IMMEDIATE)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                kill_session(self._process)

    def kill_backend(self, rng: random.Random) -> bool:
        """SIGKILL one client backend, which takes all others down with it."""
        pids = self._client_pids()
        if not pids:
            return False
        try:
            os.kill(rng.choice(pids), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def terminate_backends(self, rng: random.Random) -> bool:
        """Have Postgres end about half of its connections."""
        pids = self._client_pids()
        chosen = [pid for pid in pids if rng.random() < 0.5] or pids[:1]
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(p) FROM unnest(%s::int[]) p", [chosen])
        return bool(chosen)

    def _client_pids(self) -> list[int]:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
                " AND pid <> pg_backend_pid() ORDER BY pid"
            ).fetchall()
        return [pid for (pid,) in rows]

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.url(), connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def _launch(self) -> None:
        settings = SETTINGS | {
            "port": str(self.port),
            "unix_socket_directories": str(self._cluster),
            **self.settings,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        switch = self._account.switch()
        with (self._directory / "postgres.log").open("ab") as log:
            self._process = spawn(
                [self._binaries["postgres"], "-D", str(self._cluster), *options],
                dying_signal=IMMEDIATE,
                stdout=log,
                stderr=log,
                cwd="/",
                user=switch.user,
                group=switch.group,
                extra_groups=switch.extra_groups,
            )

    def _run(self, command: list[str]) -> None:
        switch = self._account.switch()
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            cwd="/",
            user=switch.user,
            group=switch.group,
            extra_groups=switch.extra_groups,
        )
