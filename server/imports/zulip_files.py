"""Read the tables of an export of Zulip."""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from server.i18n import _, marked
from server.imports.archive import MemberReader
from server.imports.errors import FileRefusedError
from server.imports.json_streams import MalformedJsonError, objects_in, rows_in
from server.imports.report import ImportReport

REALM: Final = "realm.json"
RECORDS: Final = "records.json"
MESSAGES: Final = re.compile(r"messages-\d{6,}\.json")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND: Final = 253_402_300_799
MAX_ID: Final = 2**53
"""What a float, by which records are sorted, holds exactly."""

Row = dict[str, Any]


def is_export(names: Iterable[str]) -> bool:
    """Return whether one of the first names is that of an export's main files."""
    for name in names:
        folders, _, last = name.rpartition("/")
        if folders.count("/") == 0 and (last == REALM or MESSAGES.fullmatch(last)):
            return True
    return False


class ZulipFiles:
    """The files of an export: tables by their names, and members of its folders."""

    def __init__(self, archive: MemberReader, report: ImportReport) -> None:
        self.archive = archive
        self._report = report
        paths = [name for name in archive.names if name.rpartition("/")[2] == REALM]
        if not paths:
            raise FileRefusedError(_("The export has no {name}.", name=REALM))
        self._folder = min(paths, key=len).removesuffix(REALM)
        self._messages = sorted(
            (
                name
                for name in archive.names
                if name.startswith(self._folder)
                and MESSAGES.fullmatch(name.removeprefix(self._folder))
            ),
            # The seventh digit comes after a million files.
            key=lambda name: (len(name), name),
        )

    def realm(self, *tables: str) -> Iterator[tuple[str, Row]]:
        """Yield the rows of tables of the organization. Raises FileRefusedError."""
        return self._rows(self._folder + REALM, tables)

    def counts(self) -> Counter[str]:
        """Return the number of rows of each table of the organization."""
        name = self._folder + REALM
        with self._damage_refused(name), self.archive.opened(name) as file:
            return Counter(table for table, _ in rows_in(file, None))

    def messages(self, *tables: str) -> Iterator[tuple[str, Row]]:
        """Yield the rows of tables in the files with messages. Raises FileRefusedError."""
        for name in self._messages:
            yield from self._rows(name, tables)

    def records(self, folder: str) -> Iterator[Row]:
        """Yield the records of the files in a folder; none without the folder."""
        name = f"{self._folder}{folder}/{RECORDS}"
        if name not in self.archive:
            return
        with self._damage_refused(name), self.archive.opened(name) as file:
            for text in objects_in(file):
                yield from self._parsed(text, name)

    def member(self, folder: str, path: str) -> str | None:
        """Return the archive's name of a file in a folder, if it is there."""
        name = f"{self._folder}{folder}/{path}"
        return name if path and name in self.archive else None

    def _rows(self, name: str, tables: Collection[str]) -> Iterator[tuple[str, Row]]:
        with self._damage_refused(name), self.archive.opened(name) as file:
            for table, text in rows_in(file, tables):
                for row in self._parsed(text, name):
                    yield table, row

    @contextmanager
    def _damage_refused(self, name: str) -> Iterator[None]:
        try:
            yield
        except MalformedJsonError as error:
            raise FileRefusedError(
                _("{name} in the archive is damaged: {error}.", name=name, error=error.message)
            ) from error

    def _parsed(self, text: bytes, name: str) -> Iterator[Row]:
        """Yield the object of a text, if it is one."""
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            value = self._repaired(text, name)
        if isinstance(value, dict):
            yield value

    def _repaired(self, text: bytes, name: str) -> Any:
        """Return the object of a text with invalid UTF-8, or with halves of characters."""
        try:
            value = _whole(json.loads(text.decode(errors="replace")))
        except (ValueError, RecursionError) as error:
            raise FileRefusedError(
                _("{name} in the archive is damaged: {error}.", name=name, error=_("no JSON"))
            ) from error
        self._report.remark(marked("records contain invalid characters, which were replaced"), name)
        return value


def _whole(value: Any) -> Any:
    """Return the value with lone surrogates replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list) else value


def id_of(value: Any) -> int | None:
    """Return an id; None if it is none."""
    is_id = isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_ID
    return value if is_id else None


def key_of(value: Any) -> str:
    """Return an id as a key of records; empty if it is none."""
    found = id_of(value)
    return "" if found is None else str(found)


def text_of(value: Any) -> str:
    return value.replace("\0", "").strip() if isinstance(value, str) else ""


def time_of(seconds: Any) -> datetime | None:
    """Return the moment of a timestamp; None if it is none."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    if not math.isfinite(seconds) or not 0 < seconds <= _LAST_SECOND:
        return None
    return _EPOCH + timedelta(seconds=seconds)
