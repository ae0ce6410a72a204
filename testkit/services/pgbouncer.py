"""PgBouncer in front of the Postgres of the tests, on a port of its own."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from testkit.faults.processes import spawn
from testkit.free_ports import free_port
from testkit.test_services import POOLER, PROGRAMS

START_SECONDS = 30
CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
admin_users = admin
pool_mode = {mode}
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
max_client_conn = 500
server_login_retry = 1
{more}
"""


@dataclass(frozen=True, slots=True)
class Pooler:
    """A running PgBouncer."""

    port: int

    def url(self, server_url: str) -> str:
        """The address of the same database, by way of the pooler."""
        info = conninfo_to_dict(server_url)
        return f"postgresql://{info.get('user')}@127.0.0.1:{self.port}/{info.get('dbname')}"

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running pooler."""
        statement: LiteralString = "SET {} = {}"
        command = sql.SQL(statement).format(sql.Identifier(name), sql.Literal(value))
        self._execute(command.as_string())

    def end_connections(self, server_url: str) -> None:
        """End those of all clients of that database."""
        database = str(conninfo_to_dict(server_url)["dbname"])
        self._execute(f"KILL {database}")
        self._execute(f"RESUME {database}")

    def _execute(self, command: str) -> None:
        address = make_conninfo("", host="127.0.0.1", port=self.port, dbname="pgbouncer")
        with psycopg.connect(address, user="admin", autocommit=True) as console:
            console.pgconn.exec_(command.encode())


@contextmanager
def pooler(server_url: str, *, mode: str, more: str = "") -> Iterator[Pooler]:
    """A pooler of that mode, with more lines of its configuration."""
    info = conninfo_to_dict(server_url)
    root = POOLER if POOLER.exists() else Path("/")
    program = shutil.which("pgbouncer", path=f"{root}/usr/sbin:{PROGRAMS}")
    assert program, "pgbouncer is not installed: ./scripts/test installs it"
    with tempfile.TemporaryDirectory(prefix="parley-pooler-") as name:
        folder, port = Path(name), free_port()
        folder.chmod(0o777)
        written = CONFIGURATION.format(
            host=info.get("host") or "127.0.0.1",
            port=info.get("port") or 5432,
            user=info.get("user"),
            own_port=port,
            mode=mode,
            folder=folder,
            more=more,
        )
        (folder / "pgbouncer.ini").write_text(written)
        libraries = ":".join(str(path) for path in root.glob("usr/lib/*-linux-gnu"))
        switch = ["-u", "nobody"] if os.geteuid() == 0 else []
        process = spawn(
            [program, "-q", *switch, str(folder / "pgbouncer.ini")],
            env={"LD_LIBRARY_PATH": libraries},
        )
        try:
            found = Pooler(port)
            _wait_for(found, server_url)
            yield found
        finally:
            process.kill()
            process.wait()


def _wait_for(found: Pooler, server_url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with psycopg.connect(found.url(server_url), connect_timeout=5):
                return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
