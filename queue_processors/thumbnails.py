"""Process the thumbnail queue: scale uploaded images, and update the messages that show them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from queue_processors.processor import Processor
from server.actions.messages.thumbnails import show_thumbnails
from server.actions.realm_services import RealmServices
from server.app import App
from server.domain.errors import BadImageError
from server.domain.thumbnails import (
    ANIMATED,
    PENDING_CLASS,
    STILL,
    TRANSCODED,
    Format,
    has_thumbnails,
    key_of,
)
from server.jobs import Thumbnails, outgoing
from server.messaging.job_broker import JobPublisher
from server.pictures.wire import Made, Picture
from storage import attachments
from storage.attachments import AttachmentRow
from storage.blobs import BlobStore
from storage.database import Database
from storage.ids import AttachmentId, MessageId, RealmId

MAX_BATCH: Final = 100
_FORMATS: Final = {"still": STILL, "animated": ANIMATED, "large": TRANSCODED}
"""Media types by the format names of the image process."""
_NO_PICTURE: Final = Made()


async def handle(app: App, job: Thumbnails) -> None:
    services = app.uncached_realm_services(job.realm_id)
    async with services.read() as connection:
        row = await attachments.by_id(connection, job.realm_id, job.attachment_id)
    if row is None or not has_thumbnails(row.content_type):
        return
    if row.width is None:
        await _make(app, job.realm_id, row)
    await _show(services, job.attachment_id)


async def _make(app: App, realm_id: RealmId, row: AttachmentRow) -> None:
    try:
        made = await app.pictures.make("thumbnail", app.blobs.read(row.blob_key))
    except (BadImageError, FileNotFoundError):
        made = _NO_PICTURE
    for name, picture in made.pictures.items():
        await _keep(app.blobs, row, _FORMATS[name], picture)
    async with app.database.connection() as connection:
        await attachments.note_picture(
            connection,
            realm_id,
            row.attachment_id,
            width=made.width,
            height=made.height,
            is_animated="animated" in made.pictures,
        )


async def _keep(blobs: BlobStore, row: AttachmentRow, wanted: Format, picture: Picture) -> None:
    incoming = await blobs.receive()
    try:
        await incoming.write(picture.content)
        # An earlier try may have come this far.
        with suppress(FileExistsError):
            await incoming.keep(key_of(row.blob_key, wanted))
    finally:
        await incoming.discard()


async def _show(services: RealmServices, attachment_id: AttachmentId) -> None:
    async for message_id in _waiting(services, attachment_id):
        now = services.clock.now()
        await services.write(partial(show_thumbnails, message_id=message_id, now=now))


async def _waiting(
    services: RealmServices, attachment_id: AttachmentId
) -> AsyncIterator[MessageId]:
    before: MessageId | None = None
    while True:
        async with services.read() as connection:
            found = await attachments.waiting_messages(
                connection,
                services.realm_id,
                attachment_id,
                pending=PENDING_CLASS,
                before=before,
                limit=MAX_BATCH,
            )
        for message_id in found:
            yield message_id
        if len(found) < MAX_BATCH:
            return
        before = found[-1]


async def ask_for_thumbnails(
    database: Database, broker: JobPublisher, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> None:
    """Enqueue the images that new messages wait for.

    They may have been processed while the messages were being sent.
    """
    async with database.connection() as connection:
        wanted = await attachments.awaited(connection, realm_id, message_ids, pending=PENDING_CLASS)
    if wanted:
        await broker.publish(
            *(
                outgoing(
                    Thumbnails(realm_id=realm_id, attachment_id=attachment_id),
                    key=f"{attachment_id}",
                )
                for attachment_id in wanted
            )
        )


PROCESSOR = Processor(Thumbnails, handle, prefetch=2)
