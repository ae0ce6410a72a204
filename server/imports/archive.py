"""Read members of ZIP archives that may be damaged or hostile."""

import io
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Protocol

from typing_extensions import override

from server.i18n import _
from server.imports.errors import FileRefusedError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_MEMBERS: Final = 2_000_000
MAX_RATIO: Final = 200
"""Maximum compression of a large member: text that people write has a tenth of it."""
MIN_BOMB_BYTES: Final = 16 * 1024 * 1024
"""Smaller members do no harm, however they are compressed."""
DAMAGE: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What `zipfile` raises for damaged, encrypted and unusually compressed members."""


class MemberReader(Protocol):
    """Members of an archive by name."""

    @property
    def names(self) -> Collection[str]: ...

    def __contains__(self, name: str) -> bool: ...

    def opened(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a member. Raises FileRefusedError, also within the block, if it is damaged."""
        ...


class ImportArchive:
    """Members of a ZIP archive by name. Their content is streamed, and never extracted by name."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        if len(file.filelist) > MAX_MEMBERS:
            raise FileRefusedError(_("The archive has too many members."))
        self.names = [name for name in file.namelist() if not name.endswith("/")]

    def __contains__(self, name: str) -> bool:
        return name in self._file.NameToInfo

    def size(self, name: str) -> int:
        """Return the size of a member as declared, which reading does not exceed."""
        return self._file.getinfo(name).file_size

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes]]:
        """Open a member. Raises FileRefusedError, also within the block, if it is damaged."""
        member = self._file.getinfo(name)
        if member.file_size > max(MIN_BOMB_BYTES, MAX_RATIO * member.compress_size):
            raise FileRefusedError(
                _("{name} in the archive would unpack to too many bytes.", name=name)
            )
        try:
            with self._file.open(member) as content:
                yield content
        except DAMAGE as error:
            raise FileRefusedError(
                _("{name} in the archive is damaged: {error}.", name=name, error=str(error))
            ) from error

    def content(self, name: str, *, at_most: int) -> bytes:
        """Return the content of a small member. Raises FileRefusedError."""
        if self.size(name) > at_most:
            raise FileRefusedError(_("{name} in the archive is too large.", name=name))
        with self.opened(name) as file:
            return file.read()


def unreadable(path: Path, error: OSError) -> FileRefusedError:
    """Return the error for a file that the operating system does not read."""
    reason = str(error.strerror or error)
    return FileRefusedError(_("{path} cannot be read: {error}.", path=str(path), error=reason))


class ReadableFile(io.FileIO):
    """A file of which reads raise FileRefusedError, at any time: a disk may fail in the middle.

    Callers could not tell an OSError from one of their own writes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            super().__init__(path)
        except OSError as error:
            raise unreadable(path, error) from error

    @override
    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            raise unreadable(self._path, error) from error


@contextmanager
def open_archive(path: Path) -> Iterator[ImportArchive]:
    """Open a ZIP archive. Raises FileRefusedError, also while it is read."""
    with io.BufferedReader(ReadableFile(path)) as content, _opened(path, content) as file:
        yield ImportArchive(file)


def _opened(path: Path, content: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(content)
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise FileRefusedError(
            _("{path} is no ZIP archive, or not all of one: download it again.", path=str(path))
        ) from error
