"""Request, store and delete exports of the realm; a worker writes the file."""

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import msgspec

from server.actions import audit
from server.actions.locked_realm import lock_as_administrator, lock_realm
from server.domain.access import ADMINISTRATOR, OWNER
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.events.base import Audience, Entry
from server.events.realm_exports import ExportConsentChanged, ExportsChanged, LoggedExport
from server.i18n import _
from server.jobs import BlobRemoval, DeferredWork, enqueue
from server.transactions import Tx
from storage import realm_exports, users
from storage.ids import UserId
from storage.realm_exports import ExportRow

STEP: Final = "export_realm"
RETENTION: Final = timedelta(days=7)
"""Retention of a file."""


SECRET_BYTES: Final = 16


class ExportArguments(msgspec.Struct, frozen=True):
    """The job's arguments."""

    export_id: int


async def ask_for_export(tx: Tx, actor: Actor, export_type: int, *, now: datetime) -> int:
    """Enqueue an export; return its id.

    Raises BadRequestError while another is pending.
    """
    await lock_as_administrator(tx, actor)
    there = await realm_exports.all_of_them(await tx.connection(), tx.realm_id)
    if any(row.is_pending for row in there):
        raise BadRequestError(_("An export is being made already. Wait until it is there."))
    export_id = await realm_exports.insert(
        await tx.changing(),
        tx.realm_id,
        export_type=export_type,
        acting_user_id=actor.user_id,
        requested_at=now,
    )
    entry = await _append_exports(tx)
    after = {"export_type": export_type}
    audit.record_outcomes(tx, entry, actor.user_id, "realm_exported", {export_id: after})
    enqueue(tx, DeferredWork.of(tx.realm_id, STEP, ExportArguments(export_id)))
    return export_id


async def append_consent_event(tx: Tx, user_id: UserId, *, consented: bool) -> None:
    """Publish a user's consent to the export of their data to the administrators."""
    event = ExportConsentChanged(user_id=user_id, consented=consented)
    tx.append(event, await _administrators(tx))


async def keep_export(tx: Tx, export_id: int, *, blob_key: str, size: int, digest: bytes) -> bool:
    """Store the key of a finished file; return False if the export was deleted meanwhile."""
    row = await _lock(tx, export_id)
    if row is None or not row.is_pending:
        return False
    await _become(tx, replace(row, blob_key=blob_key, size=size, digest=digest))
    return True


async def give_export_up(tx: Tx, export_id: int, *, now: datetime) -> None:
    """Mark an export as failed."""
    row = await _lock(tx, export_id)
    if row is not None and row.is_pending:
        await _become(tx, replace(row, failed_at=now))


async def delete_export(tx: Tx, actor: Actor, export_id: int, *, now: datetime) -> None:
    """Delete an export, as an administrator. Raises BadRequestError."""
    await lock_as_administrator(tx, actor)
    await _delete(tx, export_id, by=actor.user_id, now=now)


async def expire_export(tx: Tx, export_id: int, *, now: datetime) -> None:
    """Delete an export at the end of its retention."""
    await lock_realm(tx, alone=True)
    row = await realm_exports.by_id(await tx.connection(), tx.realm_id, export_id)
    if row is not None and row.deleted_at is None:
        await _delete(tx, export_id, by=None, now=now)


async def renew_links(tx: Tx) -> int:
    """Replace the links of all downloadable exports; return how many.

    Every administrator knows them all, so links are revoked with the credentials of any.
    """
    found = await realm_exports.all_of_them(await tx.connection(), tx.realm_id)
    if not any(row.is_there for row in found):
        return 0
    count = sum(row.is_there for row in found)
    rows = await tx.lock(realm_exports.locking_there(tx.realm_id, expected=count))
    connection = await tx.changing()
    for row in rows:
        renewed = replace(row, link_secret=secrets.token_urlsafe(SECRET_BYTES))
        await realm_exports.update(connection, tx.realm_id, renewed)
    await _append_exports(tx)
    return len(rows)


async def drop_exports(tx: Tx, *, now: datetime) -> None:
    """Delete all exports, and cancel pending ones."""
    for row in await realm_exports.all_of_them(await tx.connection(), tx.realm_id):
        if row.is_pending:
            await give_export_up(tx, row.export_id, now=now)
        elif row.blob_key is not None and row.deleted_at is None:
            await _delete(tx, row.export_id, by=None, now=now)


async def _delete(tx: Tx, export_id: int, *, by: UserId | None, now: datetime) -> None:
    row = await _lock(tx, export_id)
    if row is None:
        raise BadRequestError(_("Invalid data export ID"))
    if row.deleted_at is not None or row.from_prior_server:
        raise BadRequestError(_("Export already deleted"))
    if row.failed_at is not None:
        raise BadRequestError(_("Export failed, nothing to delete"))
    if row.blob_key is None:
        raise BadRequestError(_("Export still in progress"))
    entry = await _become(tx, replace(row, deleted_at=now))
    audit.record(tx, entry, by, "realm_export_deleted", subject_id=export_id, before={}, after={})
    enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=(row.blob_key,)))


async def _lock(tx: Tx, export_id: int) -> ExportRow | None:
    tx.must_be_exact()
    found = await tx.lock(realm_exports.locking(tx.realm_id, export_id))
    return found[0] if found else None


async def _become(tx: Tx, row: ExportRow) -> Entry:
    await realm_exports.update(await tx.changing(), tx.realm_id, row)
    return await _append_exports(tx)


async def _append_exports(tx: Tx) -> Entry:
    """Publish all exports to the administrators."""
    realm_cache = await tx.realm_cache()
    address = realm_cache.address_of(await realm_cache.realm()).url
    rows = await realm_exports.all_of_them(await tx.connection(), tx.realm_id)
    shown = [LoggedExport.of(row, address) for row in rows]
    return tx.append(ExportsChanged(exports=shown), await _administrators(tx))


async def _administrators(tx: Tx) -> Audience:
    roles = await users.ids_by_role(await tx.connection(), tx.realm_id, without_bots=True)
    return Audience(users=(*roles.get(OWNER, ()), *roles.get(ADMINISTRATOR, ())))
