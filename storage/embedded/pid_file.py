"""Read what a running Postgres records in its data directory."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

OPEN_DIRECTORIES = Path("/proc/self/fd")
"""Linux lists each process's open files here, by number."""

SOCKET_NAME = ".s.PGSQL.5432"


@dataclass(frozen=True, slots=True)
class Postmaster:
    """The process that serves the cluster, or did when it wrote its file."""

    pid: int
    started: str
    socket_directory: Path
    status: str
    cluster: Path

    def is_ready(self) -> bool:
        """Whether it accepts connections."""
        return self.status == "ready"

    def has_socket(self) -> bool:
        """Whether its socket still exists, which a cleaner of temporary files may remove."""
        return (self.socket_directory / SOCKET_NAME).exists()

    def is_alive(self) -> bool:
        """Whether the process runs, and is the Postgres of this very directory."""
        return self.number_is_taken() and not _is_zombie(self.pid) and self._serves_cluster()

    def number_is_taken(self) -> bool:
        """Whether any process, ours or not, has its number."""
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return True

    def signal(self, number: signal.Signals) -> None:
        if self.is_alive():
            os.kill(self.pid, number)

    def _serves_cluster(self) -> bool:
        # After a reboot, or in a new container, the number may be another process's. Postgres works
        # in its data directory, and no other process does.
        if sys.platform != "linux":
            return True
        try:
            return Path(f"/proc/{self.pid}/cwd").readlink() == self.cluster
        except OSError:
            return False


def read_postmaster(cluster: Path) -> Postmaster | None:
    """Return the content of `postmaster.pid`; None if it is absent or incomplete."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except OSError:
        return None
    if len(lines) < len(("pid", "directory", "start", "port", "socket", "host", "key", "status")):
        return None
    socket_directory = _as_we_see_it(Path(lines[4]), cluster)
    return Postmaster(int(lines[0]), lines[2], socket_directory, lines[7].strip(), cluster)


def _as_we_see_it(path: Path, cluster: Path) -> Path:
    """Return the real path of one that Postgres was given through an open directory."""
    if not path.is_relative_to(OPEN_DIRECTORIES):
        return path
    _number, *behind = path.relative_to(OPEN_DIRECTORIES).parts
    return cluster.parent.joinpath(*behind)


def _is_zombie(pid: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
