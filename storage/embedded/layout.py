"""Paths in the data directory, and their permissions."""

import errno
import fcntl
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from storage.embedded.account import ROOT, Account
from storage.embedded.errors import EmbeddedError
from storage.embedded.pid_file import SOCKET_NAME

LONGEST_SOCKET_PATH = 103 if sys.platform == "darwin" else 107
"""Limit of the kernel, in bytes, for the address of a unix socket."""

FALLBACK_PREFIX = "parley-"

PRIVATE = 0o700

NO_SPACE = {errno.ENOSPC, errno.EDQUOT}

SPACE_FOR_A_CLUSTER = 120 * 1024 * 1024
"""Bytes: an empty cluster takes 40 MB, a copy of the programs as much."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one data directory."""

    data: Path

    @property
    def cluster(self) -> Path:
        return self.data / "postgres"

    @property
    def log(self) -> Path:
        return self.data / "postgres.log"

    @property
    def lock(self) -> Path:
        return self.data / "lock"

    @property
    def hba(self) -> Path:
        return self.data / "pg_hba.conf"

    @property
    def ident(self) -> Path:
        return self.data / "pg_ident.conf"

    @property
    def socket_directory(self) -> Path:
        return self.data / "socket"

    def version(self) -> int | None:
        """Return the major version of Postgres that made the cluster; None if there is none yet."""
        try:
            return int((self.cluster / "PG_VERSION").read_text().split(".")[0])
        except FileNotFoundError:
            return None


def make_data_directory(data: Path) -> None:
    """Create the directory if needed; raise EmbeddedError if it cannot be written."""
    try:
        data.mkdir(mode=0o711 if os.geteuid() == ROOT else PRIVATE, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data) as probe:
            probe.write(b"x")
    except OSError as error:
        if error.errno in NO_SPACE:
            raise EmbeddedError(f"The disk that holds {data} is full.") from error
        raise EmbeddedError(
            f"The data directory {data} cannot be written ({error.strerror}):"
            " choose another with --data."
        ) from error


def lock_data_directory(layout: Layout) -> int:
    """Lock the data directory; return the file descriptor. The kernel releases it when we end."""
    descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode().strip()
        os.close(descriptor)
        raise EmbeddedError(
            f"The data directory {layout.data} is in use by another Parley"
            f" (process {holder or 'unknown'}): stop it, or choose another with --data."
        ) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def check_space(data: Path) -> None:
    """Raise EmbeddedError unless a new cluster fits."""
    free = shutil.disk_usage(data).free
    if free < SPACE_FOR_A_CLUSTER:
        raise EmbeddedError(
            f"The disk that holds {data} is full: a new database needs"
            f" {SPACE_FOR_A_CLUSTER // 1024**2} MB, and {free // 1024**2} MB are free."
        )


def choose_socket_directory(layout: Layout, account: Account, last: Path | None) -> Path:
    """Return a private directory for the socket; a short one if the data's path is too long."""
    if fits_a_socket(layout.socket_directory):
        directory = layout.socket_directory
        directory.mkdir(mode=PRIVATE, exist_ok=True)
    elif last is not None and _is_private(last, account):
        return last
    else:
        base = "/run" if os.geteuid() == ROOT and os.access("/run", os.W_OK) else None
        directory = Path(tempfile.mkdtemp(prefix=FALLBACK_PREFIX, dir=base))
    account.own(directory)
    return directory


def fits_a_socket(directory: Path) -> bool:
    return len(os.fsencode(directory / SOCKET_NAME)) <= LONGEST_SOCKET_PATH


def remove_fallback(layout: Layout, directory: Path) -> None:
    """Remove the socket's directory if it was created outside the data directory."""
    if directory != layout.socket_directory and directory.name.startswith(FALLBACK_PREFIX):
        with suppress(OSError):
            directory.rmdir()


def _is_private(directory: Path, account: Account) -> bool:
    """Return whether the directory still exists and still belongs to the account alone."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    return status.st_uid == account.uid and stat.S_IMODE(status.st_mode) == PRIVATE
