"""How the account of Postgres gets into the data directory, also where the way there is closed."""

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
    """To be inherited by whoever uses these paths."""

    @property
    def is_open(self) -> bool:
        """Whether the account may go all the way by itself."""
        return not self.descriptors

    def path(self, path: Path, real: Layout) -> Path:
        """Return the same path through the door, if it lies behind it."""
        if not path.is_relative_to(real.data):
            return path
        return self.layout.data / path.relative_to(real.data)


@contextmanager
def open_door(layout: Layout, account: Account) -> Iterator[Door]:
    """Let the account pass through the data directory itself, and no directory above it.

    Where one above is closed, the account inherits the data directory as open: then it is in it,
    whatever lies on the way.
    """
    if account.first_closed(layout.data) == layout.data:
        # Passing through shows no names, and everything in it has rights of its own.
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
