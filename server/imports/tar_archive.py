"""Read members of tar archives, compressed or not, that may be damaged or hostile."""

import errno
import gzip
import io
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final, cast

from typing_extensions import override

from server.i18n import _
from server.imports.archive import MAX_MEMBERS, MAX_RATIO, MIN_BOMB_BYTES, unreadable
from server.imports.errors import FileRefusedError

CHUNK_BYTES: Final = 1024 * 1024
MAX_HEADER_BYTES: Final = 1024 * 1024
"""Maximum size of a member's name and attributes, which are read into memory."""
_GZIP: Final = b"\x1f\x8b"
_TAR: Final = b"ustar"
_TAR_AT: Final = 257
_DAMAGE: Final = (gzip.BadGzipFile, zlib.error, EOFError, tarfile.TarError, ValueError)


def is_tar(path: Path) -> bool:
    """Return whether a file begins like a tar archive, compressed with gzip or not."""
    try:
        with _plain(path) as file:
            return file.read(_TAR_AT + len(_TAR))[_TAR_AT:] == _TAR
    except (*_DAMAGE, OSError):
        return False


def first_names(path: Path) -> Iterator[str]:
    """Yield the names of files one by one, without unpacking more than up to there.

    Raises FileRefusedError.
    """
    with _damage_refused(path), _plain(path) as file:
        for member in _members(file):
            yield member.name


class TarArchive:
    """Members of a tar archive by name.

    A compressed one is unpacked at the first use, as a whole, into a temporary file without a name:
    gzip can only be read from its start. Nothing is extracted by name.
    """

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path = path
        self._stack = stack
        """Closes the temporary file."""

    @property
    def names(self) -> list[str]:
        return list(self._sections)

    def __contains__(self, name: str) -> bool:
        return name in self._sections

    def opened(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a member. Reads of several members do not disturb each other."""
        offset, size = self._sections[name]
        section = _Section(self._file.fileno(), offset, size)
        return closing(cast(IO[bytes], io.BufferedReader(section, CHUNK_BYTES // 4)))

    @cached_property
    def _sections(self) -> dict[str, tuple[int, int]]:
        """Place and size of each file's content. Of several with one name, the last counts."""
        with _damage_refused(self._path):
            return {
                member.name: (member.offset_data, member.size) for member in _members(self._file)
            }

    @cached_property
    def _file(self) -> IO[bytes]:
        stack = self._stack
        with _damage_refused(self._path), _plain(self._path) as plain:
            if not _is_compressed(self._path):
                return stack.enter_context(self._path.open("rb"))
            unpacked = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed there
            most = max(MIN_BOMB_BYTES, MAX_RATIO * self._path.stat().st_size)
            while piece := plain.read(CHUNK_BYTES):
                most -= len(piece)
                if most < 0:
                    raise FileRefusedError(
                        _("{path} would unpack to too many bytes.", path=str(self._path))
                    )
                unpacked.write(piece)
            unpacked.flush()
            return unpacked


@contextmanager
def open_tar(path: Path) -> Iterator[TarArchive]:
    """Open a tar archive. What is wrong with it is raised at the first use: FileRefusedError."""
    with ExitStack() as stack:
        yield TarArchive(path, stack)


class _Section(io.RawIOBase):
    """A part of a file, with a position of its own."""

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        self._descriptor = descriptor
        self._place = offset
        self._end = offset + size

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._end - self._place)
        piece = os.pread(self._descriptor, wanted, self._place)
        buffer[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)


class _HeaderReader:
    """A file with bounded reads: of a member, only what describes it is read at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        if size > MAX_HEADER_BYTES:
            raise FileRefusedError(_("The archive has a member with too long a description."))
        return self._file.read(size)

    def seek(self, place: int) -> int:
        return self._file.seek(place)

    def tell(self) -> int:
        return self._file.tell()


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, with its content uncompressed."""
    if _is_compressed(path):
        with gzip.open(path, "rb") as unzipped:
            yield cast(IO[bytes], unzipped)
    else:
        with path.open("rb") as file:
            yield file


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _members(file: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    """Yield the files of a tar archive. Raises FileRefusedError for what exports do not contain."""
    file.seek(0)
    tar: Any = tarfile.TarFile(fileobj=cast(IO[bytes], _HeaderReader(file)), mode="r")
    count = 0
    last = ""
    member: tarfile.TarInfo | None
    while (member := tar.next()) is not None:
        tar.members.clear()  # The list of all of them is not needed, and may be large.
        count += 1
        if count > MAX_MEMBERS:
            raise FileRefusedError(_("The archive has too many members."))
        last = member.name.encode(errors="replace").decode()
        _check(member, last)
        if member.isreg():
            yield member
    # Headers that are no headers end the archive for `tarfile`, as zeros do.
    file.seek(tar.offset)
    end = file.read(tarfile.BLOCKSIZE)
    if len(end) < tarfile.BLOCKSIZE or any(end):
        raise FileRefusedError(
            _("The archive is damaged after {name}: download it again.", name=last)
        )


def _check(member: tarfile.TarInfo, name: str) -> None:
    """Raise FileRefusedError for links, devices, holes and paths that lead up."""
    if not (member.isreg() or member.isdir()) or member.issparse():
        raise FileRefusedError(
            _("The archive contains what is neither file nor folder: {name}.", name=name)
        )
    if name.startswith("/") or ".." in name.split("/"):
        raise FileRefusedError(
            _("The archive contains a path that leads out of it: {name}.", name=name)
        )


@contextmanager
def _damage_refused(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise FileRefusedError(
            _("{path} is damaged, or not all of it is there: download it again.", path=str(path))
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            place = tempfile.gettempdir()
            raise FileRefusedError(
                _(
                    "{place} has no space for the unpacked archive: set TMPDIR to another folder.",
                    place=place,
                )
            ) from error
        raise unreadable(path, error) from error
