"""The account that Postgres runs as: it refuses root, so root hands it to an unprivileged one."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from storage.embedded.errors import EmbeddedError

PREFERRED_ACCOUNTS = ("parley", "nobody")
"""An account of its own keeps other daemons out of the data; `nobody` exists everywhere."""

ROOT = 0


@dataclass(frozen=True, slots=True)
class SubprocessAccount:
    """The arguments of subprocess that switch the account."""

    user: int | None
    group: int | None
    extra_groups: list[int] | None


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the operating system that Postgres runs as."""

    uid: int
    gid: int
    name: str

    def switch(self) -> "SubprocessAccount":
        """Return what subprocess needs to switch to this account; empty if it is ours."""
        if self.uid == os.geteuid():
            return SubprocessAccount(None, None, None)
        return SubprocessAccount(self.uid, self.gid, [])

    def own(self, path: Path) -> None:
        """Give the path to this account."""
        if self.uid != os.geteuid():
            os.chown(path, self.uid, self.gid)

    def first_closed(self, path: Path) -> Path | None:
        """Return the first directory on the way to `path` that this account cannot enter."""
        if self.uid == os.geteuid():
            return None
        way = [*reversed(path.parents), path]
        return next((step for step in way if not self._may_enter(step.stat())), None)

    def _may_enter(self, status: os.stat_result) -> bool:
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def choose_account(existing: Path) -> Account:
    """Return the server's account: the owner of an existing cluster, else the preferred one.

    Raises EmbeddedError.
    """
    me = os.geteuid()
    if me != ROOT:
        return _by_uid(me)
    if existing.exists() and (owner := existing.stat()).st_uid != ROOT:
        return Account(owner.st_uid, owner.st_gid, f"uid {owner.st_uid}")
    for name in PREFERRED_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid, name)
    raise EmbeddedError(
        "Postgres does not run as root, and this machine has no account `parley` or `nobody`"
        " to run it as: create one, or set DATABASE_URL to a Postgres of your own."
    )


def my_name() -> str:
    """Return the name of this process's account."""
    return _by_uid(os.geteuid()).name


def _by_uid(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedError(
            f"This process runs as uid {uid}, which has no name in /etc/passwd, and Postgres"
            " needs one: give it one, or set DATABASE_URL to a Postgres of your own."
        ) from None
    return Account(uid, entry.pw_gid, entry.pw_name)
