"""Store the files that imported messages hold."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import IO, Final

from server.actions.attachments import new_attachment
from server.domain.attachments import url_of
from server.domain.markdown.dialects import outside_code
from server.domain.slack_text import link
from server.i18n import marked
from server.imports.downloads import Downloads
from server.imports.errors import FileRefusedError
from server.imports.records import Reader, RemoteFile, SharedFile
from server.imports.report import ImportReport, example
from storage.attachments import AttachmentRow
from storage.backups.archive import pieces
from storage.blobs import BlobStore
from storage.ids import RealmId, UserId

CONCURRENT_DOWNLOADS: Final = 4


@dataclass(slots=True)
class StoredFile:
    """A file of a message, with its row; `is_new`: the row is not inserted yet."""

    row: AttachmentRow
    is_new: bool


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file that a message holds, with the message's sender and time."""

    file: SharedFile
    owner_id: UserId
    moment: datetime


class FileStore:
    """Stores files of messages, each once."""

    def __init__(
        self, reader: Reader, blobs: BlobStore, realm_id: RealmId, downloads: Downloads | None
    ) -> None:
        self._reader = reader
        self._blobs = blobs
        self._realm_id = realm_id
        self._downloads = downloads
        self._fetched: dict[str, AttachmentRow | FileRefusedError] = {}
        self.space_left: int | None = None
        """Bytes that the realm's uploads may still take; None: no limit."""

    async def fetch(self, files: Iterable[HeldFile]) -> None:
        """Fetch remote files, some at a time, for `store`. Raises ImportStoppedError."""
        remote = {held.file.key: held for held in files if isinstance(held.file.member, RemoteFile)}
        at_once = asyncio.Semaphore(CONCURRENT_DOWNLOADS)

        async def fetched(held: HeldFile) -> AttachmentRow | FileRefusedError:
            async with at_once:
                try:
                    return await self._received(held)
                except FileRefusedError as error:
                    return error

        rows = await asyncio.gather(*map(fetched, remote.values()), return_exceptions=True)
        self._fetched = {}
        for key, row in zip(remote, rows, strict=True):
            if isinstance(row, BaseException) and not isinstance(row, FileRefusedError):
                raise row
            self._fetched[key] = row

    async def store(
        self, held: HeldFile, known: Mapping[str, StoredFile], report: ImportReport
    ) -> StoredFile | None:
        """Return the file with its content in the store; None if it cannot be had."""
        file = held.file
        if file.key in known:
            return known[file.key]
        if file.member is None:
            report.remark(_missing(file), file.name)
            return None
        try:
            row = self._fetched.get(file.key) or await self._received(held)
        except FileRefusedError as error:
            row = error
        if isinstance(row, FileRefusedError):
            reason = marked("files are damaged, and were left out")
            if isinstance(file.member, RemoteFile):
                reason = marked("files could not be fetched: messages link to them there")
            report.remark(reason, example(file.name, row.message))
            return None
        if self.space_left is not None:
            if row.size > self.space_left:
                reason = marked(
                    "files were left out, since the organization's space for uploads is full"
                )
                report.remark(reason, file.name)
                return None
            self.space_left -= row.size
        report.count(marked("files"))
        return StoredFile(row, is_new=True)

    async def _received(self, held: HeldFile) -> AttachmentRow:
        """Store the content of a file. Raises FileRefusedError and ImportStoppedError."""
        member = held.file.member
        if isinstance(member, RemoteFile):
            assert self._downloads is not None, "others yield no remote files"
            return await self._downloads.fetched(member, partial(self._kept, held))
        assert member is not None, "files without content are only remarked"
        with self._reader.opened(member) as source:
            return await self._kept(held, as_stream(source))

    async def _kept(self, held: HeldFile, content: AsyncIterator[bytes]) -> AttachmentRow:
        incoming = await self._blobs.receive()
        try:
            async for piece in content:
                await incoming.write(piece)
            row = new_attachment(
                self._realm_id, held.owner_id, held.file.name, incoming, held.moment
            )
            await incoming.keep(row.blob_key)
        finally:
            await incoming.discard()
        return row


async def as_stream(source: IO[bytes]) -> AsyncIterator[bytes]:
    """Yield the content of an open member of the archive in pieces."""
    for piece in pieces(source):
        yield piece


def markdown_of_file(file: SharedFile, stored: StoredFile | None) -> str:
    """Return a link to the file here, or where the other program has it."""
    if stored is not None:
        return link(stored.row.name, url_of(stored.row.path_id))
    return link(file.name, file.url) if file.url else file.name


def with_own_url(text: str, file: SharedFile, stored: StoredFile) -> str:
    """Return a text with the file's URL there replaced by that here; code stays as it is."""
    return outside_code(text, lambda piece: piece.replace(file.url, url_of(stored.row.path_id)))


def _missing(file: SharedFile) -> str:
    """Return the reason for a file without content."""
    if file.is_in_text:
        return marked("files are not in the export: links to them lead nowhere")
    if file.url:
        return marked("files are not in the export: messages link to them there")
    return marked("files are not in the export: messages have their names")
