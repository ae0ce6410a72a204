"""Store the files that imported messages hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from server.actions.attachments import new_attachment
from server.domain.attachments import url_of
from server.domain.markdown.dialects import outside_code
from server.domain.slack_text import link
from server.imports.errors import FileRefusedError
from server.imports.records import Reader, SharedFile
from server.imports.report import ImportReport
from storage.attachments import AttachmentRow
from storage.backups.archive import pieces
from storage.blobs import BlobStore
from storage.ids import RealmId, UserId


@dataclass(slots=True)
class StoredFile:
    """A file of a message, with its row; `is_new`: the row is not inserted yet."""

    row: AttachmentRow
    is_new: bool


class FileStore:
    """Stores files of messages, each once, and returns links to them."""

    def __init__(self, reader: Reader, blobs: BlobStore, realm_id: RealmId) -> None:
        self._reader = reader
        self._blobs = blobs
        self._realm_id = realm_id

    async def store(
        self,
        file: SharedFile,
        known: Mapping[str, StoredFile],
        owner_id: UserId,
        moment: datetime,
        report: ImportReport,
    ) -> StoredFile | None:
        """Return the file with its content in the store; None if the archive lacks it."""
        if file.key in known:
            return known[file.key]
        if file.member is None:
            reason = "messages link to them there" if file.url else "messages have their names"
            if file.is_in_text:
                reason = "links to them lead nowhere"
            report.remark(f"files are not in the export: {reason}", file.name)
            return None
        try:
            row = await self._received(file, file.member, owner_id, moment)
        except FileRefusedError as error:
            report.remark("files are damaged, and were left out", str(error))
            return None
        report.count("files")
        return StoredFile(row, is_new=True)

    async def _received(
        self, file: SharedFile, member: str, owner_id: UserId, moment: datetime
    ) -> AttachmentRow:
        incoming = await self._blobs.receive()
        try:
            with self._reader.opened(member) as source:
                for piece in pieces(source):
                    await incoming.write(piece)
            row = new_attachment(self._realm_id, owner_id, file.name, incoming, moment)
            await incoming.keep(row.blob_key)
        finally:
            await incoming.discard()
        return row


def markdown_of_file(file: SharedFile, stored: StoredFile | None) -> str:
    """Return a link to the file here, or where the other program has it."""
    if stored is not None:
        return link(stored.row.name, url_of(stored.row.path_id))
    return link(file.name, file.url) if file.url else file.name


def with_own_url(text: str, file: SharedFile, stored: StoredFile) -> str:
    """Return a text with the file's URL there replaced by that here; code stays as it is."""
    return outside_code(text, lambda piece: piece.replace(file.url, url_of(stored.row.path_id)))
