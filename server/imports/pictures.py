"""Import custom emoji and profile pictures, before the messages that show them."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from server.actions.avatars import set_avatar
from server.actions.locked_realm import lock_realm_context
from server.actions.realm_emoji import NewEmoji, add_emoji
from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.domain.attachments import MAX_PICTURE_MIB, MIB
from server.domain.emoji import checked_name
from server.domain.errors import DomainError
from server.i18n import _, marked
from server.imports.downloads import Downloads
from server.imports.errors import ELSEWHERE, FileRefusedError, ImportStoppedError
from server.imports.files import as_stream
from server.imports.records import EmojiRecord, PersonRecord, Reader, RemoteFile
from server.imports.report import ImportReport, example
from server.pictures.keeping import keep_made
from server.pictures.process import Pictures
from server.pictures.wire import Recipe
from server.transactions import Tx
from storage import imports, users
from storage.blobs import BlobStore
from storage.ids import UserId
from storage.imported_messages import CLIENT
from storage.imports import ImportRow
from storage.users import UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureWriter:
    """Writes pictures one by one, each in a transaction that records the progress."""

    services: RealmServices
    reader: Reader
    blobs: BlobStore
    pictures: Pictures
    people: Mapping[str, UserId]
    owner: UserRow
    downloads: Downloads | None = None

    async def write_all(self, row: ImportRow) -> ImportRow:
        """Import the pictures from the progress on; return the progress.

        Raises ImportStoppedError if another process continues the import.
        """
        for record in islice(self._records(), row.done, None):
            row = await self._write(row, record)
        return row

    async def _write(self, row: ImportRow, record: EmojiRecord | PersonRecord) -> ImportRow:
        """Write one picture, or a remark on it."""
        report = ImportReport.of(row.report)
        try:
            step = await self._prepared(record)
            report.count(step.what)
            return await self._advance(row, report, step)
        except (DomainError, FileRefusedError) as error:
            name = record.name if isinstance(record, EmojiRecord) else record.full_name
            report = ImportReport.of(row.report)
            report.remark(marked("pictures were left out"), example(name, error.message))
            return await self._advance(row, report, None)

    async def _advance(
        self, row: ImportRow, report: ImportReport, step: "_EmojiStep | _AvatarStep | None"
    ) -> ImportRow:
        after = replace(row, done=row.done + 1, report=report.as_json())
        await self.services.write(partial(_write, row=row, after=after, step=step))
        return after

    def _records(self) -> Iterator[EmojiRecord | PersonRecord]:
        yield from self.reader.emoji()
        # Not of people who had an account already.
        yield from (
            person
            for person in self.reader.people()
            if person.picture is not None and person.key in self.people
        )

    async def _prepared(self, record: EmojiRecord | PersonRecord) -> "_EmojiStep | _AvatarStep":
        """Store the record's picture. Raises DomainError and FileRefusedError."""
        realm_id = self.services.realm_id
        assert record.picture is not None
        if isinstance(record, EmojiRecord):
            name = checked_name(self.reader.emoji_name(record.name))
            keys = await self._made("emoji", record.picture)
            new = NewEmoji(name=name, blob_key=keys["image"], still_key=keys.get("still"))
            return _EmojiStep(Actor(realm_id, self.owner, CLIENT), new)
        keys = await self._made("avatar", record.picture)
        return _AvatarStep(self.people[record.key], keys["small"])

    async def _made(self, recipe: Recipe, picture: str | RemoteFile) -> dict[str, str]:
        """Store what the recipe makes of a picture; return the keys."""
        keep = partial(keep_made, self.pictures, self.blobs, recipe, self.services.realm_id)
        if isinstance(picture, RemoteFile):
            assert self.downloads is not None, "others yield no remote files"
            return await self.downloads.fetched(picture, lambda pieces: keep(_bounded(pieces)))
        return await keep(self._content(picture))

    async def _content(self, member: str) -> AsyncIterator[bytes]:
        with self.reader.opened(member) as file:
            async for piece in _bounded(as_stream(file)):
                yield piece


async def _bounded(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the content. Raises FileRefusedError if it is too large for a picture."""
    left = MAX_PICTURE_MIB * MIB
    async for piece in content:
        left -= len(piece)
        if left < 0:
            raise FileRefusedError(_("it is too large"))
        yield piece


@dataclass(frozen=True, slots=True)
class _EmojiStep:
    actor: Actor
    new: NewEmoji
    what: str = marked("custom emoji")

    async def write(self, tx: Tx) -> None:
        await add_emoji(tx, self.actor, self.new)


@dataclass(frozen=True, slots=True)
class _AvatarStep:
    user_id: UserId
    avatar_key: str
    what: str = marked("profile pictures")

    async def write(self, tx: Tx) -> None:
        context = await lock_realm_context(tx, [self.user_id])
        [old] = await tx.lock(users.locking(tx.realm_id, [self.user_id]))
        await set_avatar(tx, Actor(tx.realm_id, old, CLIENT), context, old, self.avatar_key)


async def _write(
    tx: Tx, *, row: ImportRow, after: ImportRow, step: _EmojiStep | _AvatarStep | None
) -> None:
    """Write one picture, unless another process continues the import."""
    if step is not None:
        await step.write(tx)
    connection = await tx.changing()
    advanced = await connection.run(
        imports.advance(tx.realm_id, row, phase=row.phase, done=after.done, report=after.report)
    )
    if not advanced:
        raise ImportStoppedError(ELSEWHERE)
