"""Request, store and delete exports of a user's own data; a worker writes the file."""

from dataclasses import replace
from datetime import datetime
from typing import Final

import msgspec

from server.actions import audit
from server.actions.locked_realm import lock_with_actor
from server.domain.account_exports import MAX_IN_WINDOW, WINDOW
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.jobs import BlobRemoval, DeferredWork, enqueue
from server.transactions import Tx
from storage import account_exports
from storage.account_exports import AccountExportRow
from storage.ids import AccountExportId

STEP: Final = "export_account"
KEYS_PER_JOB: Final = 1_000


class AccountExportArguments(msgspec.Struct, frozen=True):
    """The job's arguments."""

    export_id: AccountExportId


async def ask_for_own_data(tx: Tx, actor: Actor, *, now: datetime) -> AccountExportId:
    """Enqueue an export of the actor's data; return its id.

    Raises BadRequestError while another is pending, and above the limit of a day.
    """
    await lock_with_actor(tx, actor)
    connection = await tx.connection()
    there = await account_exports.of_user(connection, tx.realm_id, actor.user_id)
    if any(row.is_pending for row in there):
        raise BadRequestError(_("An export is being made already. Wait until it is there."))
    made = await account_exports.count_since(connection, tx.realm_id, actor.user_id, now - WINDOW)
    if made >= MAX_IN_WINDOW:
        raise BadRequestError(
            _("You can export your data {limit} times a day.", limit=MAX_IN_WINDOW)
        )
    export_id = await account_exports.insert(await tx.changing(), tx.realm_id, actor.user_id, now)
    entry = tx.append(Tick(), NO_AUDIENCE)
    requested = {actor.user_id: {"export_id": export_id}}
    audit.record_outcomes(tx, entry, actor.user_id, "user_data_exported", requested)
    enqueue(tx, DeferredWork.of(tx.realm_id, STEP, AccountExportArguments(export_id)))
    return export_id


async def keep_own_data(
    tx: Tx, export_id: AccountExportId, *, blob_key: str, size: int, digest: bytes
) -> bool:
    """Store the key of a finished file; return False if the export was deleted meanwhile."""
    row = await _lock(tx, export_id)
    if row is None or not row.is_pending:
        return False
    new = replace(row, percent=100, blob_key=blob_key, size=size, digest=digest)
    await account_exports.update(await tx.changing(), tx.realm_id, new)
    return True


async def give_own_data_up(tx: Tx, export_id: AccountExportId, *, now: datetime) -> None:
    """Mark an export as failed."""
    row = await _lock(tx, export_id)
    if row is not None and row.is_pending:
        new = replace(row, failed_at=now)
        await account_exports.update(await tx.changing(), tx.realm_id, new)


async def delete_own_data(
    tx: Tx, actor: Actor, export_id: AccountExportId, *, now: datetime
) -> None:
    """Delete an export of the actor's, or cancel it. Raises BadRequestError."""
    row = await _lock(tx, export_id)
    if row is None or row.user_id != actor.user_id or row.deleted_at is not None:
        raise BadRequestError(_("Invalid data export ID"))
    await _delete(tx, [row], now)


async def expire_own_data(tx: Tx, export_id: AccountExportId, *, now: datetime) -> None:
    """Delete an export at the end of its retention."""
    row = await _lock(tx, export_id)
    if row is not None and row.deleted_at is None:
        await _delete(tx, [row], now)


async def drop_account_exports(tx: Tx, *, now: datetime) -> None:
    """Delete the exports of all users, and cancel pending ones."""
    await _delete(tx, await tx.lock(account_exports.locking_all(tx.realm_id)), now)


async def _lock(tx: Tx, export_id: AccountExportId) -> AccountExportRow | None:
    tx.must_be_exact()
    found = await tx.lock(account_exports.locking(tx.realm_id, export_id))
    return found[0] if found else None


async def _delete(tx: Tx, rows: list[AccountExportRow], now: datetime) -> None:
    connection = await tx.changing()
    for row in rows:
        await account_exports.update(connection, tx.realm_id, replace(row, deleted_at=now))
    keys = [row.blob_key for row in rows if row.blob_key is not None]
    for at in range(0, len(keys), KEYS_PER_JOB):
        some = tuple(keys[at : at + KEYS_PER_JOB])
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=some))
