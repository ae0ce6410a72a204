"""Recognise which program wrote a file."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server.imports.archive import ImportArchive, open_archive
from server.imports.readers.slack import USERS, SlackReader
from server.imports.records import Reader
from server.imports.report import ImportReport

PARLEY_MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class ImportSource:
    """Another program whose exports can be imported."""

    name: str
    opened: Callable[[Path, ImportReport], AbstractContextManager[Reader]]
    """Opens a reader of its file. Raises FileRefusedError."""


def source_of(path: Path) -> ImportSource | None:
    """Return the program that wrote the file; None: Parley, or none that is known.

    Raises FileRefusedError if it is an archive that cannot be read.
    """
    if not zipfile.is_zipfile(path):
        return None
    with open_archive(path) as archive:
        return SLACK if _is_slack(archive) else None


def _is_slack(archive: ImportArchive) -> bool:
    if PARLEY_MANIFEST in archive:
        return False
    names = {name.rpartition("/")[2] for name in archive.names if name.count("/") <= 1}
    return USERS in names and not names.isdisjoint({"channels.json", "groups.json", "dms.json"})


@contextmanager
def _opened_slack(path: Path, report: ImportReport) -> Iterator[Reader]:
    with open_archive(path) as archive:
        yield SlackReader(archive, report)


SLACK: Final = ImportSource("Slack", _opened_slack)
