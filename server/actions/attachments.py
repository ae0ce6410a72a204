"""Files that people upload: whoever may read a message that holds one may read the file."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from server.actions.ground import stand
from server.domain.actor import Actor
from server.domain.attachments import MIB
from server.domain.errors import BadRequestError, NotFoundError, UploadQuotaError
from server.events.attachments import AttachmentRemoved, AttachmentShown, GoneAttachment
from server.events.base import NOBODY, Tx, to_users
from server.events.log import Tick
from server.jobs import BlobRemoval, enqueue
from storage import attachments
from storage.attachments import AttachmentRow
from storage.database import Connection
from storage.ids import AttachmentId, MessageId, UserId

ORPHANS_KEPT: Final = timedelta(days=30)
"""How long a file waits for a message after its upload, or after the last one let it go."""


async def readable(connection: Connection, actor: Actor, path_id: str) -> AttachmentRow:
    """The file, for somebody who may read it now. Raises NotFoundError: it may not be known."""
    found = await attachments.readable(connection, actor.realm_id, actor.user_id, [path_id])
    if not found:
        raise NotFoundError("This file does not exist, or you do not have permission to view it.")
    return found[0]


async def add_attachment(tx: Tx, actor: Actor, row: AttachmentRow) -> None:
    """Keep a file whose content is in the store already. Raises UploadQuotaError."""
    tx.must_be_exact()
    ground = await stand(tx, actor)
    [space] = await tx.lock(attachments.locking_space(tx.realm_id))
    check_quota(ground.settings.upload_quota_mib, space.bytes, row.size)
    connection = await tx.changing()
    attachment_id = await attachments.insert(connection, tx.realm_id, row)
    used = await attachments.add_to_space(connection, tx.realm_id, row.size)
    [shown] = await attachments.shown(connection, tx.realm_id, [attachment_id])
    event = AttachmentShown(op="add", attachment=shown, upload_space_used=used)
    tx.append(event, to_users(actor.user_id))


def check_quota(quota_mib: int | None, used: int, size: int) -> None:
    """Raise UploadQuotaError if there is no room for so much."""
    if quota_mib is not None and used + size > quota_mib * MIB:
        raise UploadQuotaError("Upload would exceed your organization's upload quota.")


async def delete_attachment(tx: Tx, actor: Actor, attachment_id: AttachmentId) -> None:
    """Delete one's own file for good, whatever messages say of it. Raises BadRequestError."""
    if not await _delete(tx, actor.user_id, attachment_id):
        raise BadRequestError("Invalid attachment")


async def delete_orphan(tx: Tx, row: AttachmentRow, before: datetime) -> None:
    """Delete a file that no message has needed since, unless one does by now."""
    await _delete(tx, row.owner_id, row.attachment_id, unless_needed_since=before)


async def _delete(
    tx: Tx,
    owner_id: UserId,
    attachment_id: AttachmentId,
    unless_needed_since: datetime | None = None,
) -> bool:
    """Whether it was there. Its content follows once this has been committed."""
    tx.must_be_exact()
    locked = await tx.lock(attachments.locking_of_owner(tx.realm_id, owner_id, attachment_id))
    if not locked:
        return False
    [row] = locked
    if unless_needed_since is not None and not await attachments.orphans(
        await tx.connection(),
        tx.realm_id,
        before=unless_needed_since,
        limit=1,
        among=[attachment_id],
    ):
        return False
    await tx.lock(attachments.locking_space(tx.realm_id))
    connection = await tx.changing()
    await attachments.delete(connection, tx.realm_id, attachment_id)
    used = await attachments.add_to_space(connection, tx.realm_id, -row.size)
    event = AttachmentRemoved(attachment=GoneAttachment(attachment_id), upload_space_used=used)
    entry = tx.append(event, to_users(owner_id))
    tx.at_position(entry, attachments.forget_messages(tx.realm_id, attachment_id))
    enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=(row.blob_key,)))
    return True


# -- messages that change


async def before_letting_go(tx: Tx, message_ids: Sequence[MessageId], now: datetime) -> bool:
    """Lock what these locked messages hold: its days are counted from now on. Whether any is."""
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
