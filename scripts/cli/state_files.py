"""State files of running servers, by which commands find them."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from server.settings import Settings

FOLDER = "running"
"""In the state directory of the user that runs the servers."""


class RunningServer(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a server's state file, without secrets."""

    pid: int
    url: str
    data: str | None
    """The data directory of its private Postgres; None if DATABASE_URL is configured."""


@contextmanager
def announced(settings: "Settings") -> Iterator[None]:
    """Keep a state file of this server for the duration of the block.

    The server holds a lock on the file, which the kernel releases when the process ends: an
    unlocked file is stale. Errors are ignored: the server runs without the file.
    """
    path, descriptor = None, None
    with suppress(OSError, RuntimeError):
        path = _folder() / f"{secrets.token_hex(8)}.json"
        descriptor = _write_locked(path, settings)
    try:
        yield
    finally:
        if path is not None and descriptor is not None:
            path.unlink(missing_ok=True)
            os.close(descriptor)


def running_servers() -> list[RunningServer]:
    """Return this user's running servers by address, and delete stale files."""
    found: list[RunningServer] = []
    with suppress(OSError, RuntimeError):
        read = (_read_locked(path) for path in _folder().glob("*.json"))
        found += [server for server in read if server is not None]
    return sorted(found, key=lambda server: (server.url, server.pid))


def _folder() -> Path:
    from server.settings import state_directory

    return state_directory() / FOLDER


def _write_locked(path: Path, settings: "Settings") -> int:
    """Write and lock the file before its rename into place, so that it is never unlocked."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    server = RunningServer(
        pid=os.getpid(),
        url=settings.public_url,
        data=str(settings.data_directory.resolve()) if settings.database_url is None else None,
    )
    unfinished = path.with_suffix(".new")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, msgspec.json.encode(server))
        unfinished.rename(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return descriptor


def _read_locked(path: Path) -> RunningServer | None:
    """Return the server that holds the lock of this file; None if it is unlocked or unreadable."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return msgspec.json.decode(file.read(), type=RunningServer)
            path.unlink(missing_ok=True)
    except (OSError, msgspec.DecodeError):
        return None
    return None
