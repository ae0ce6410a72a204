"""Processes notify a service manager as systemd's, and serve on the sockets that it passes."""

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.runtime.sockets import open_sockets, port_of
from testkit.faults.processes import kill_session, spawn

PASS_SOCKET = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="parley.socket")
os.execv(sys.executable, [sys.executable, "-m", "scripts.cli.main", *sys.argv[2:]])
"""
PATIENCE_SECONDS = 60


class Manager:
    """The socket that is notified."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(PATIENCE_SECONDS)

    def until(self, assignment: str) -> str:
        """Return the status that comes with the assignment."""
        while True:
            lines = self._socket.recv(4096).decode().splitlines()
            if assignment in lines:
                return "".join(line for line in lines if line.startswith("STATUS="))

    def start(self, *command: str, url: str, passed: int) -> "subprocess.Popen[bytes]":
        settings = {
            "PATH": os.defpath,
            "HOME": str(self.path.parent),
            "DATABASE_URL": url,
            "NOTIFY_SOCKET": str(self.path),
            "WATCHDOG_USEC": "60000000",
        }
        program = [sys.executable, "-c", PASS_SOCKET, str(passed), *command]
        return spawn(program, env=settings, pass_fds=(passed,))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    opened = Manager(tmp_path / "notify")
    yield opened
    opened.close()


def test_serve_is_ready_on_a_passed_socket_and_says_when_it_stops(
    manager: Manager, database_url: str
):
    [listening] = open_sockets("127.0.0.1", 0)
    port = port_of([listening])
    command = ("serve", "--processes", "2", "--port", "1")
    process = manager.start(*command, url=database_url, passed=listening.fileno())
    try:
        status = manager.until("READY=1")
        assert status == f"STATUS=2 processes serve port {port}."
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/ready")
        assert connection.getresponse().status == 200
        connection.close()
        manager.until("WATCHDOG=1")
        process.terminate()
        manager.until("STOPPING=1")
        assert process.wait(PATIENCE_SECONDS) == 0
        # The manager has the socket still: connections wait for the next start.
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS).close()
    finally:
        kill_session(process)
        listening.close()


def test_a_worker_notifies_too_and_takes_no_socket(manager: Manager, database_url: str):
    process = manager.start("worker", "embed_links", url=database_url, passed=0)
    try:
        assert manager.until("READY=1") == "STATUS=Works on 1 queues."
        process.terminate()
        manager.until("STOPPING=1")
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        kill_session(process)


def test_what_is_no_listening_socket_is_refused(manager: Manager, database_url: str):
    process = manager.start("serve", url=database_url, passed=0)
    assert process.wait(PATIENCE_SECONDS) == 1
