"""Files that people upload: whoever may read a message that holds one may read the file."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from server.actions.clocked import Verdict
from server.actions.locked_realm import lock_context
from server.domain.actor import Actor
from server.domain.attachments import MIB, clean_name, name_in_address, type_by_name
from server.domain.errors import BadRequestError, NotFoundError, UploadQuotaError
from server.domain.thumbnails import has_thumbnails, keys_of
from server.events.attachments import AttachmentRemoved, AttachmentShown, GoneAttachment
from server.events.base import NOBODY, to_users
from server.events.log import Tick
from server.jobs import BlobRemoval, Thumbnails, enqueue
from server.transactions import Clocked, Tx
from storage import attachments
from storage.attachments import AttachmentRow
from storage.blobs import IncomingBlob, new_key
from storage.database import Connection
from storage.ids import AttachmentId, MessageId, RealmId, UserId

UPLOADS: Final = "uploads"
"""What the keys of their contents begin with."""
ORPHANS_KEPT: Final = timedelta(days=30)
"""How long a file waits for a message after its upload, or after the last one let it go."""


async def readable(connection: Connection, actor: Actor, path_id: str) -> AttachmentRow:
    """Return the file, for a user who may read it now.

    Raises NotFoundError: it may not be known.
    """
    found = await attachments.readable(connection, actor.realm_id, actor.user_id, [path_id])
    if not found:
        raise NotFoundError("This file does not exist, or you do not have permission to view it.")
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
    """What a file is to be, once its content is under the key of this row: this one, or a new."""
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
    """Return what stands in the address of the file of this name under this key."""
    return f"{key.removeprefix(UPLOADS + '/')}/{name_in_address(name)}"


async def add_attachment(tx: Tx, actor: Actor, row: AttachmentRow) -> None:
    """Keep a file whose content is in the store already. Raises UploadQuotaError."""
    tx.must_be_exact()
    context = await lock_context(tx, actor)
    [space] = await tx.lock(attachments.locking_space(tx.realm_id))
    check_quota(context.settings.upload_quota_mib, space.bytes, row.size)
    connection = await tx.changing()
    attachment_id = await attachments.insert(connection, tx.realm_id, row)
    used = await attachments.add_to_space(connection, tx.realm_id, row.size)
    [shown] = await attachments.shown(connection, tx.realm_id, [attachment_id])
    event = AttachmentShown(op="add", attachment=shown, upload_space_used=used)
    tx.append(event, to_users(actor.user_id))
    if has_thumbnails(row.content_type):
        enqueue(tx, Thumbnails(realm_id=tx.realm_id, attachment_id=attachment_id))


def has_room(quota_mib: int | None, used: int, size: int) -> bool:
    """Return whether so much may be added to what is used."""
    return quota_mib is None or used + size <= quota_mib * MIB


def check_quota(quota_mib: int | None, used: int, size: int) -> None:
    """Raise UploadQuotaError if there is no room for so much."""
    if not has_room(quota_mib, used, size):
        raise UploadQuotaError("Upload would exceed your organization's upload quota.")


async def delete_attachment(tx: Tx, actor: Actor, attachment_id: AttachmentId) -> None:
    """Delete one's own file for good, whatever messages say of it. Raises BadRequestError."""
    if not await delete_file_of(tx, actor.user_id, attachment_id):
        raise BadRequestError("Invalid attachment")


async def delete_file_of(tx: Tx, owner_id: UserId, attachment_id: AttachmentId) -> bool:
    """Delete a file of this owner for good, and its content. Return whether it was there."""
    row = await _lock(tx, owner_id, attachment_id)
    if row is None:
        return False
    connection = await tx.changing()
    await attachments.delete(connection, tx.realm_id, attachment_id)
    used = await attachments.add_to_space(connection, tx.realm_id, -row.size)
    event = AttachmentRemoved(attachment=GoneAttachment(attachment_id), upload_space_used=used)
    entry = tx.append(event, to_users(owner_id))
    tx.at_position(entry, attachments.forget_messages(tx.realm_id, attachment_id))
    enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=blob_keys(row)))
    return True


async def delete_orphan(tx: Tx, row: AttachmentRow, before: datetime) -> Clocked[bool] | None:
    """Delete a file that nothing has needed since, unless something does by now.

    Whether it went; its content is the caller's to remove. None: it was gone.
    """
    if await _lock(tx, row.owner_id, row.attachment_id) is None:
        return None
    statement = attachments.delete_orphan(
        tx.realm_id, row.attachment_id, before=before, write_id=tx.write_id
    )
    return tx.clocked(Verdict(statement))


def blob_keys(row: AttachmentRow) -> tuple[str, ...]:
    """Return where its content is kept, and what has been made of it."""
    small = keys_of(row.blob_key) if has_thumbnails(row.content_type) else ()
    return (row.blob_key, *small)


async def _lock(tx: Tx, owner_id: UserId, attachment_id: AttachmentId) -> AttachmentRow | None:
    """Return the file of its owner, and with it how much the organization has uploaded."""
    tx.must_be_exact()
    locked = await tx.lock(attachments.locking_of_owner(tx.realm_id, owner_id, attachment_id))
    if not locked:
        return None
    await tx.lock(attachments.locking_space(tx.realm_id))
    return locked[0]


# -- messages that change


async def before_letting_go(tx: Tx, message_ids: Sequence[MessageId], now: datetime) -> bool:
    """Lock what these locked messages hold: its days are counted from now on.

    Return whether any is.
    """
    tx.must_be_exact()  # in a batch what a user holds would be left out
    held = await tx.lock(attachments.locking_held(tx.realm_id, message_ids))
    if held:
        ids = [row.attachment_id for row in held]
        await attachments.note_letting_go(await tx.changing(), tx.realm_id, ids, now)
    return bool(held)


def let_go(tx: Tx, message_ids: Sequence[MessageId]) -> None:
    """The messages are gone, and hold nothing any more. The owners are told."""
    entry = tx.append(Tick(), NOBODY)
    tx.at_position(entry, attachments.let_go(tx.realm_id, message_ids))


def hold(tx: Tx, message_id: MessageId, rows: Sequence[AttachmentRow]) -> None:
    """The message holds these from now on, and no others. Owners are told of what is new."""
    # An entry of its own: what comes after the statement must not rely on the position.
    entry = tx.append(Tick(), NOBODY)
    ids = [row.attachment_id for row in rows]
    tx.at_position(entry, attachments.hold(tx.realm_id, message_id, ids))
