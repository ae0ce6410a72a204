"""Access of Postgres's account to the data directory, even below private directories."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.embedded.account import Account
from storage.embedded.errors import EmbeddedError
from storage.embedded.layout import Layout
from storage.embedded.pid_file import OPEN_DIRECTORIES


@dataclass(frozen=True, slots=True)
class Door:
    """The data directory as the account of Postgres reaches it."""

    layout: Layout
    descriptors: tuple[int, ...] = ()
    """File descriptors that processes using these paths must inherit."""

    @property
    def is_open(self) -> bool:
        """Whether the account can reach the directory by its path."""
        return not self.descriptors

    def path(self, path: Path, real: Layout) -> Path:
        """Return the path through the door, if it is inside the data directory."""
        if not path.is_relative_to(real.data):
            return path
        return self.layout.data / path.relative_to(real.data)


@contextmanager
def open_door(layout: Layout, account: Account) -> Iterator[Door]:
    """Let the account enter the data directory itself, and no directory above it.

    If one above is private, the account inherits the data directory as an open descriptor.
    """
    if account.first_closed(layout.data) == layout.data:
        # Execute permission shows no names, and everything inside has permissions of its own.
        layout.data.chmod(layout.data.stat().st_mode | 0o011)
    closed = account.first_closed(layout.data)
    if closed is None:
        yield Door(layout)
    elif sys.platform == "linux" and OPEN_DIRECTORIES.is_dir():
        layout.data.chmod(layout.data.stat().st_mode | 0o011)
        descriptor = os.open(layout.data, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield Door(Layout(OPEN_DIRECTORIES / str(descriptor)), (descriptor,))
        finally:
            os.close(descriptor)
    else:
        raise EmbeddedError(
            f"As root, Parley runs Postgres as `{account.name}`, which may not enter {closed}:"
            " choose a data directory elsewhere with --data, like /var/lib/parley."
        )
