"""Child processes that end with this one."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from typing_extensions import override

from server.runtime.siblings import sibling_processes
from server.writer.forwarding import committing
from storage.ids import RealmId
from testkit import fork_server
from testkit.faults.world import REALM

ENDING_SECONDS = 15.0
RESPAWN_SECONDS = 0.05


def spawn(
    command: Sequence[str], *, dying_signal: int = signal.SIGKILL, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a process that gets the signal when this one dies, in a session of its own."""
    return fork_server.Popen(
        command,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        dying_signal=dying_signal,
        **options,
    )


async def ended(process: subprocess.Popen[bytes], seconds: float = ENDING_SECONDS) -> bool:
    """Wait until the process has ended; whether it did in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while process.poll() is None:
        if loop.time() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass(eq=False)
class Workers:
    """N processes that run a command, and have successors.

    Unlike the supervisor of `parley serve` this one never pauses before it starts a successor:
    killing them over and over is the purpose.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    count: int
    log: Path
    spared: int = 0
    """The oldest of them, which the nemesis leaves alone."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    starts: int = 0

    def __post_init__(self) -> None:
        self._log: IO[bytes] = self.log.open("ab")

    def start_missing(self) -> None:
        """Fill the places of those who have ended."""
        self.processes = [p for p in self.processes if p.poll() is None]
        while len(self.processes) < self.count:
            self.processes.append(self._start())

    async def keep_running(self) -> None:
        """Do so until cancelled."""
        while True:
            self.start_missing()
            await asyncio.sleep(RESPAWN_SECONDS)

    def running(self) -> list[subprocess.Popen[bytes]]:
        return [p for p in self.processes if p.poll() is None]

    def victims(self) -> list[subprocess.Popen[bytes]]:
        """Those that may be killed, stopped and drained."""
        return self.running()[self.spared :]

    def last_words(self) -> str:
        """The end of what they have logged."""
        return self.log.read_text(errors="replace")[-2_000:]

    async def stop(self) -> bool:
        """Drain them all; whether each ended in time and well."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        results = [await ended(process) for process in self.processes]
        self.close()
        return all(results) and all(p.returncode == 0 for p in self.processes)

    def close(self) -> None:
        """End whatever still runs, at once."""
        for process in self.processes:
            kill_session(process)
        self.processes = []
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        return self._spawn(self.command)

    def _spawn(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        self.starts += 1
        return spawn(
            command, env=dict(self.environment), stdout=self._log, stderr=self._log, **options
        )


class Servers(Workers):
    """N serving processes that inherit one listening socket, as those of `parley serve` do.

    They share the connections evenly (docs/adr/0056-even-connections.md), and drain by themselves
    when this process is gone.
    """

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._lifeline, self._our_end = os.pipe()
        self._shares = ExitStack()
        self._siblings = self._shares.enter_context(sibling_processes(self.count))
        self._numbers: dict[int, int] = {}
        """The place of each process among its siblings, by process id."""

    def committing(self) -> subprocess.Popen[bytes] | None:
        """The process that commits for all (docs/adr/0057-forwarded-writes.md), if it may die."""
        accepting = self._siblings[0].share.counts.accepting()
        number = committing(RealmId(REALM), accepting)
        chosen = [each for each in self.victims() if self._numbers[each.pid] == number]
        return chosen[0] if chosen else None

    @override
    def close(self) -> None:
        super().close()
        if self._socket.fileno() != -1:
            self._socket.close()
            os.close(self._lifeline)
            os.close(self._our_end)
            self._shares.close()

    @override
    def _start(self) -> subprocess.Popen[bytes]:
        taken = {self._numbers[each.pid] for each in self.processes}
        number = next(number for number in range(self.count) if number not in taken)
        sibling = self._siblings[number]
        sibling.share.leave()
        process = self._spawn(
            [
                *self.command,
                *("--lifeline", str(self._lifeline)),
                *("--sockets", str(self._socket.fileno())),
                *("--siblings", sibling.describe()),
            ],
            pass_fds=(self._lifeline, self._socket.fileno(), *sibling.descriptors),
        )
        self._numbers[process.pid] = number
        return process
