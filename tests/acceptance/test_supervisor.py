"""Server processes share a port, are respawned, and end with their parent."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from server.runtime.sockets import ListenError, open_sockets, port_of
from server.runtime.supervisor import _pause

PARENT = """
import sys
from server.runtime.service_manager import ServiceNotifier
from server.runtime.sockets import open_sockets, port_of
from server.runtime.supervisor import Supervisor

sockets = open_sockets("127.0.0.1", 0)
print(port_of(sockets), flush=True)
Supervisor(
    command=[sys.executable, "-c", sys.argv[1]],
    sockets=sockets,
    count=2,
    drain_seconds=60,
    report=lambda line: print("parent:", line, flush=True),
    notifier=ServiceNotifier.take(),
    ready_status="Two processes.",
).run()
print("parent: done", flush=True)
"""

CHILD = """
import os, select, signal, socket, sys

def stop(number, frame):
    raise SystemExit("stopped")

signal.signal(signal.SIGTERM, stop)
# A signal just before select is a byte that select sees.
wake, waker = os.pipe()
os.set_blocking(waker, False)
signal.set_wakeup_fd(waker)
lifeline = int(sys.argv[sys.argv.index("--lifeline") + 1])
listener = socket.socket(fileno=int(sys.argv[sys.argv.index("--sockets") + 1]))
listener.setblocking(False)
reports = socket.socket(fileno=int(sys.argv[sys.argv.index("--reports") + 1]))
period = float(sys.argv[sys.argv.index("--watchdog") + 1]) / 9 if "--watchdog" in sys.argv else None
reports.send(b"READY=1\\nSTATUS=")
try:
    os.write(1, f"child: {os.getpid()} ready\\n".encode())
    while True:
        readable, _, _ = select.select([lifeline, listener, wake], [], [], period)
        if lifeline in readable:
            raise SystemExit("orphaned")
        reports.send(b"WATCHDOG=1")
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            continue
        connection.sendall(str(os.getpid()).encode())
        connection.close()
except SystemExit as reason:
    os.write(1, f"child: {os.getpid()} {reason}\\n".encode())
    os._exit(0)
"""


class Parent:
    """A running supervisor and what it and its children print."""

    def __init__(self, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT, CHILD],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},  # noqa: TID251
        )
        assert self.process.stdout
        self.output = self.process.stdout
        self.port = int(self.output.readline())

    def until(self, *words: str) -> list[str]:
        """Lines up to one that has all these words."""
        lines = []
        for line in self.output:
            lines.append(line.strip())
            if all(word in line for word in words):
                return lines
        raise AssertionError(f"no line with {words} in {lines}")

    def ready_child(self) -> int:
        return int(self.until("child:", "ready")[-1].split()[1])

    def ask(self) -> int:
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            return int(connection.recv(100))


@pytest.fixture
def parent():
    started = Parent()
    yield started
    started.process.kill()
    started.process.wait()
    started.output.close()


def test_processes_share_the_port(parent: Parent):
    children = {parent.ready_child(), parent.ready_child()}

    assert len(children) == 2
    assert parent.ask() in children


def test_a_killed_process_is_replaced(parent: Parent):
    children = {parent.ready_child(), parent.ready_child()}
    victim = min(children)

    os.kill(victim, signal.SIGKILL)

    assert f"server process {victim} ended (-9)" in " ".join(parent.until("ended"))
    successor = parent.ready_child()
    assert successor not in children
    assert parent.ask() in {successor, max(children)}


def test_a_stuck_process_is_replaced_and_the_service_manager_notified(tmp_path: Path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        parent = Parent(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="1500000")
        stuck = parent.ready_child()
        received = {manager.recv(100) for _ in range(3)}
        assert received == {b"READY=1\nSTATUS=Two processes.", b"WATCHDOG=1"}
        os.kill(stuck, signal.SIGSTOP)
        parent.until(f"server process {stuck} is stuck and is killed")
        assert parent.ready_child() != stuck
        parent.process.terminate()
        parent.until("parent: done")
        while not manager.recv(100).startswith(b"STOPPING=1\n"):
            pass
        parent.process.wait()
        parent.output.close()


def test_one_that_keeps_failing_is_started_ever_later():
    assert [_pause(failures) for failures in (0, 1, 2, 3, 20)] == [0, 0.1, 0.2, 0.4, 10]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopping_parent_stops_its_processes(parent: Parent, number: signal.Signals):
    parent.ready_child()
    parent.ready_child()

    parent.process.send_signal(number)

    lines = parent.until("parent: done")
    assert sum("stopped" in line for line in lines) == 2
    assert parent.process.wait() == 0
    with pytest.raises(ConnectionRefusedError):
        parent.ask()


def test_processes_end_when_their_parent_is_killed(parent: Parent):
    parent.ready_child()
    parent.ready_child()

    parent.process.kill()

    parent.until("orphaned")
    parent.until("orphaned")
    assert parent.output.readline() == ""


def test_listening_fails_with_a_sentence():
    taken = open_sockets("127.0.0.1", 0)
    port = port_of(taken)
    with pytest.raises(
        ListenError, match=rf"^Port {port} on 127\.0\.0\.1 is used by another program"
    ):
        open_sockets("127.0.0.1", port)
    taken[0].close()
    with pytest.raises(ListenError, match=r"does not have the address 192\.0\.2\.1"):
        open_sockets("192.0.2.1", port)
    with pytest.raises(ListenError, match=r"The host a\.\.b is not known here"):
        open_sockets("a..b", port)


def test_a_name_with_two_addresses_gets_one_port():
    sockets = open_sockets("localhost", 0)
    assert len({opened.getsockname()[1] for opened in sockets}) == 1
    for opened in sockets:
        opened.close()
