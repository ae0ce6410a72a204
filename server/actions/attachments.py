"""Upload and delete files: a reader of a message with a file may read the file."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from server.actions.clocked import ClockedOutcome
from server.actions.locked_realm import lock_context, lock_realm
from server.domain.actor import Actor
from server.domain.attachments import MIB, clean_name, name_in_address, type_by_name
from server.domain.errors import BadRequestError, NotFoundError, UploadQuotaError
from server.domain.thumbnails import has_thumbnails, keys_of
from server.events.attachments import AttachmentRemoved, AttachmentShown, GoneAttachment
from server.events.base import NO_AUDIENCE, to_users
from server.events.log import Tick
from server.i18n import _
from server.jobs import BlobRemoval, Thumbnails, enqueue
from server.transactions import Clocked, Tx
from storage import attachments, legal_holds, upload_space
from storage.attachments import AttachmentRow
from storage.blobs import IncomingBlob, new_key
from storage.database import Connection
from storage.ids import AttachmentId, MessageId, RealmId, UserId

UPLOADS: Final = "uploads"
"""Prefix of the blob keys of uploaded files."""
ORPHAN_RETENTION: Final = timedelta(days=30)
"""Retention of a file without a message, since its upload or since the last message dropped it."""


async def readable(connection: Connection, actor: Actor, path_id: str) -> AttachmentRow:
    """Return the file if the actor may read it now.

    Raises NotFoundError, which does not reveal whether it exists.
    """
    found = await attachments.readable(connection, actor.realm_id, actor.user_id, [path_id])
    if not found:
        raise NotFoundError(
            _("This file does not exist, or you do not have permission to view it.")
        )
    return found[0]


def new_attachment(
    realm_id: RealmId,
    owner_id: UserId,
    given_name: str,
    content: IncomingBlob,
    now: datetime,
    *,
    key: str | None = None,
) -> AttachmentRow:
    """Return the row of a new file with content under this key, or under a new one."""
    key, name = key or new_key(UPLOADS, realm_id), clean_name(given_name)
    return AttachmentRow(
        attachment_id=AttachmentId(0),
        path_id=path_id_of(key, name),
        name=name,
        content_type=type_by_name(name),
        size=content.size,
        digest=content.digest,
        owner_id=owner_id,
        created_at=now,
    )


def path_id_of(key: str, name: str) -> str:
    """Return the path id of a file with this name and key."""
    return f"{key.removeprefix(UPLOADS + '/')}/{name_in_address(name)}"


async def add_attachment(tx: Tx, actor: Actor, row: AttachmentRow) -> None:
    """Insert a file with its content already in the store. Raises UploadQuotaError."""
    tx.must_be_exact()
    context = await lock_context(tx, actor)
    [space] = await tx.lock(upload_space.locking(tx.realm_id))
    check_quota(context.settings.upload_quota_mib, space.bytes, row.size)
    connection = await tx.changing()
    attachment_id = await attachments.insert(connection, tx.realm_id, row)
    used = await upload_space.add(connection, tx.realm_id, row.size)
    [shown] = await attachments.shown(connection, tx.realm_id, [attachment_id])
    event = AttachmentShown(op="add", attachment=shown, upload_space_used=used)
    tx.append(event, to_users(actor.user_id))
    if has_thumbnails(row.content_type):
        enqueue(tx, Thumbnails(realm_id=tx.realm_id, attachment_id=attachment_id))


def has_room(quota_mib: int | None, used: int, size: int) -> bool:
    """Return whether so many bytes fit beside those used."""
    return quota_mib is None or used + size <= quota_mib * MIB


def check_quota(quota_mib: int | None, used: int, size: int) -> None:
    """Raise UploadQuotaError if there is no room for so many bytes."""
    if not has_room(quota_mib, used, size):
        raise UploadQuotaError(_("Upload would exceed your organization's upload quota."))


async def delete_attachment(
    tx: Tx, actor: Actor, attachment_id: AttachmentId, *, now: datetime
) -> None:
    """Delete one's own file, even if messages refer to it. Raises BadRequestError."""
    if not await delete_file_of(tx, actor.user_id, attachment_id, now=now):
        raise BadRequestError(_("Invalid attachment"))


async def delete_file_of(
    tx: Tx, owner_id: UserId, attachment_id: AttachmentId, *, now: datetime
) -> bool:
    """Delete a file of this owner, and its content unless it is held. Return whether it existed."""
    tx.must_be_exact()
    await lock_realm(tx, alone=False)  # against a legal hold that is placed at the same time
    row = await _lock(tx, owner_id, attachment_id)
    if row is None:
        return False
    connection = await tx.changing()
    is_kept = await legal_holds.keep_file(connection, tx.realm_id, row, now=now)
    await attachments.delete(connection, tx.realm_id, attachment_id)
    used = await upload_space.add(connection, tx.realm_id, -row.size)
    event = AttachmentRemoved(attachment=GoneAttachment(attachment_id), upload_space_used=used)
    entry = tx.append(event, to_users(owner_id))
    tx.at_position(entry, attachments.forget_messages(tx.realm_id, attachment_id))
    if not is_kept:
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=blob_keys(row)))
    return True


async def drop_released_files(tx: Tx, *, limit: int) -> int:
    """Delete the content of up to `limit` deleted files that no hold covers any more.

    Return how many.
    """
    tx.must_be_exact()
    await lock_realm(tx, alone=False)
    rows = await legal_holds.drop_released_files(await tx.changing(), tx.realm_id, limit=limit)
    if rows:
        keys = tuple(key for row in rows for key in blob_keys(row))
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=keys))
    return len(rows)


async def delete_orphan(tx: Tx, row: AttachmentRow, before: datetime) -> Clocked[bool] | None:
    """Delete a file that has been an orphan since, unless it is referred to by now.

    The result is whether it was deleted; the caller then deletes its content. None: it was gone.
    """
    if await _lock(tx, row.owner_id, row.attachment_id) is None:
        return None
    statement = attachments.delete_orphan(
        tx.realm_id, row.attachment_id, before=before, write_id=tx.write_id
    )
    return tx.clocked(ClockedOutcome(statement))


def blob_keys(row: AttachmentRow) -> tuple[str, ...]:
    """Return the blob keys of its content and of its thumbnails."""
    small = keys_of(row.blob_key) if has_thumbnails(row.content_type) else ()
    return (row.blob_key, *small)


async def _lock(tx: Tx, owner_id: UserId, attachment_id: AttachmentId) -> AttachmentRow | None:
    """Lock the owner's file, and the realm's upload space; return the file."""
    tx.must_be_exact()
    locked = await tx.lock(attachments.locking_of_owner(tx.realm_id, owner_id, attachment_id))
    if not locked:
        return None
    await tx.lock(upload_space.locking(tx.realm_id))
    return locked[0]


# -- changing messages


async def before_letting_go(tx: Tx, message_ids: Sequence[MessageId], now: datetime) -> bool:
    """Start the retention period of files in these locked messages.

    Return whether there are any.
    """
    tx.must_be_exact()  # in a batch what a user holds would be left out
    held = await tx.lock(attachments.locking_held(tx.realm_id, message_ids))
    if held:
        ids = [row.attachment_id for row in held]
        await attachments.note_letting_go(await tx.changing(), tx.realm_id, ids, now)
    return bool(held)


def let_go(tx: Tx, message_ids: Sequence[MessageId]) -> None:
    """Remove the files of deleted messages; publish events to the owners."""
    entry = tx.append(Tick(), NO_AUDIENCE)
    tx.at_position(entry, attachments.let_go(tx.realm_id, message_ids))


def hold(tx: Tx, message_id: MessageId, rows: Sequence[AttachmentRow]) -> None:
    """Set the files of a message; publish events of new ones to their owners."""
    # An entry of its own: what comes after the statement must not rely on the position.
    entry = tx.append(Tick(), NO_AUDIENCE)
    ids = [row.attachment_id for row in rows]
    tx.at_position(entry, attachments.hold(tx.realm_id, message_id, ids))
