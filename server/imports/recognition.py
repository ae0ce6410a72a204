"""Recognise which program wrote a file."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

from server.i18n import _
from server.imports.archive import ImportArchive, open_archive
from server.imports.errors import FileRefusedError
from server.imports.readers.mattermost import KIND, MattermostReader
from server.imports.readers.rocketchat import ROOMS, RocketChatReader
from server.imports.readers.rocketchat import USERS as USERS_DUMP
from server.imports.readers.slack import USERS, SlackReader
from server.imports.readers.zulip import ZulipReader
from server.imports.records import Reader
from server.imports.report import ImportReport
from server.imports.slack_web import NO_SUPPLEMENT, SlackSupplement
from server.imports.tar_archive import first_names, is_tar, open_tar
from server.imports.zulip_files import is_export

PARLEY_MANIFEST: Final = "manifest.json"
ZIP_BEGINNING: Final = b"PK\x03\x04"
CUT: Final = _(
    "The end of this ZIP archive is missing: it was not downloaded or copied as a whole. Get it"
    " again."
)
MAX_VERSION_BYTES: Final = 256


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
        if is_tar(path):
            return ZULIP if is_export(first_names(path)) else None
        with path.open("rb") as file:
            if file.read(len(ZIP_BEGINNING)) == ZIP_BEGINNING:
                raise FileRefusedError(CUT)
            file.seek(0)
            return MATTERMOST if _begins_like_mattermost(file) else None
    with open_archive(path) as archive:
        return _source_in(archive)


def is_of_parley(path: Path) -> bool:
    """Return whether the file is an export of Parley, or a part of one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return PARLEY_MANIFEST in archive.namelist()
    except (zipfile.BadZipFile, EOFError, ValueError):
        return False


def _source_in(archive: ImportArchive) -> ImportSource | None:
    if PARLEY_MANIFEST in archive:
        return None
    if _is_slack(archive):
        return SLACK
    if _is_rocketchat(archive):
        return ROCKETCHAT
    if is_export(archive.names):
        return ZULIP
    return None if _lines_of_mattermost(archive) is None else MATTERMOST


def _is_slack(archive: ImportArchive) -> bool:
    names = {name.rpartition("/")[2] for name in archive.names if name.count("/") <= 1}
    return USERS in names and not names.isdisjoint({"channels.json", "groups.json", "dms.json"})


def _is_rocketchat(archive: ImportArchive) -> bool:
    return {USERS_DUMP, ROOMS} <= {name.rpartition("/")[2] for name in archive.names}


def _lines_of_mattermost(archive: ImportArchive) -> str | None:
    """Return the member with the lines of an export of Mattermost, if there is one."""
    for name in archive.names:
        if "/" not in name and name.endswith((".jsonl", ".json")):
            with archive.opened(name) as file:
                if _begins_like_mattermost(file):
                    return name
    return None


def _begins_like_mattermost(file: IO[bytes]) -> bool:
    """Return whether the first line names the version of a bulk export."""
    kind = KIND.match(file.read(MAX_VERSION_BYTES))
    return kind is not None and kind[1] == b"version"


def slack_with(supplement: SlackSupplement) -> ImportSource:
    """Return Slack, with what was fetched to complete its exports."""
    return ImportSource(SLACK.name, partial(_opened_slack, supplement=supplement))


@contextmanager
def _opened_slack(
    path: Path, report: ImportReport, *, supplement: SlackSupplement = NO_SUPPLEMENT
) -> Iterator[Reader]:
    with open_archive(path) as archive:
        yield SlackReader(archive, report, supplement)


@contextmanager
def _opened_rocketchat(path: Path, report: ImportReport) -> Iterator[Reader]:
    with open_archive(path) as archive, closing(RocketChatReader(archive, report)) as reader:
        yield reader


@contextmanager
def _opened_mattermost(path: Path, report: ImportReport) -> Iterator[Reader]:
    if not zipfile.is_zipfile(path):
        yield MattermostReader(lambda: path.open("rb"), None, report)
        return
    with open_archive(path) as archive:
        lines = _lines_of_mattermost(archive)
        assert lines is not None, "the file was recognised"
        yield MattermostReader(lambda: archive.opened(lines), archive, report)


@contextmanager
def _opened_zulip(path: Path, report: ImportReport) -> Iterator[Reader]:
    if zipfile.is_zipfile(path):  # Of the unpacked folder.
        with open_archive(path) as archive:
            yield ZulipReader(archive, report)
        return
    with open_tar(path) as archive:
        yield ZulipReader(archive, report)


SLACK: Final = ImportSource("Slack", _opened_slack)
ROCKETCHAT: Final = ImportSource("Rocket.Chat", _opened_rocketchat)
MATTERMOST: Final = ImportSource("Mattermost", _opened_mattermost)
ZULIP: Final = ImportSource("Zulip", _opened_zulip)
