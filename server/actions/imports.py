"""Imports that owners ask for: read the file, start, end; a worker does the work."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from server.actions import audit
from server.actions.locked_realm import lock_as_owner, lock_realm
from server.domain.access import OWNER
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, NotFoundError
from server.domain.messages import clean_new_topic
from server.events.base import NO_AUDIENCE, Entry
from server.events.log import Tick
from server.i18n import _, from_json, to_json
from server.jobs import BlobRemoval, Imports, enqueue
from server.transactions import Tx
from storage import import_requests
from storage.ids import ImportRequestId
from storage.import_requests import ImportRequestRow

FILES: Final = "imports"
"""Key prefix of the files."""
RETENTION: Final = timedelta(days=30)
"""Retention of a request that has ended or was never started, with what its report quotes."""
MAX_REQUESTS: Final = 20
"""Maximum per realm."""
_EMPTY_REPORT: Final[Mapping[str, Any]] = {"imported": {}, "remarks": []}
"""Of a file that could not be read."""
PROBLEM: Final = "problem"
"""Key of a report: why the import failed, to be translated."""
MAX_CRASHES: Final = 3
CRASH_PAUSE_SECONDS: Final = 30.0
CRASHED: Final = _("The import ended unexpectedly: the log of the server says why.")
ABANDONED: Final = _("The import was abandoned: what had come stays.")


def check_owner(actor: Actor) -> None:
    """Raise BadRequestError unless the actor may see and request imports."""
    if actor.row.role != OWNER:
        raise BadRequestError(_("Must be an organization owner"))


async def add_request(
    tx: Tx, actor: Actor, *, file_name: str, size: int, blob_key: str, now: datetime
) -> ImportRequestId:
    """Request an import of this file, which is read first; return its id. For owners.

    Raises BadRequestError.
    """
    await lock_as_owner(tx, actor)
    connection = await tx.connection()
    there = await import_requests.by_blob(connection, tx.realm_id, blob_key)
    if there is not None:
        return there.request_id
    await _check_room(tx)
    request_id = await import_requests.insert(
        await tx.changing(),
        tx.realm_id,
        acting_user_id=actor.user_id,
        file_name=file_name,
        size=size,
        blob_key=blob_key,
        requested_at=now,
    )
    _record(tx, actor, "realm_import_requested", request_id, {"name": file_name})
    enqueue(tx, Imports(realm_id=tx.realm_id, request_id=request_id))
    return request_id


async def note_contents(
    tx: Tx,
    request_id: ImportRequestId,
    *,
    source: str,
    fingerprint: bytes,
    report: Mapping[str, Any],
) -> None:
    """Store what the file contains: the import can be started."""
    row = await _lock(tx, request_id)
    if row is not None and row.state == "reading":
        known = replace(
            row, state="ready", source=source, fingerprint=fingerprint, report=dict(report)
        )
        await import_requests.update(await tx.changing(), tx.realm_id, known)


async def start(tx: Tx, actor: Actor, request_id: ImportRequestId, topic: str | None) -> None:
    """Start an import into the realm. For owners; one at a time. Raises BadRequestError."""
    realm = await lock_as_owner(tx, actor)
    if realm.deactivated:
        raise BadRequestError(_("This organization is deactivated."))
    rows = await import_requests.of_realm(await tx.connection(), tx.realm_id)
    row = await _wanted(tx, request_id)
    if row.state != "ready":
        raise BadRequestError(_("Only an import that is ready can be started."))
    if any(each.state == "running" for each in rows):
        raise BadRequestError(_("Another import is under way. Wait until it has ended."))
    name = "" if topic is None or not topic.strip() else clean_new_topic(topic, "general chat")
    await import_requests.update(
        await tx.changing(), tx.realm_id, replace(row, state="running", topic=name)
    )
    after = {"name": row.file_name, "source": row.source}
    _record(tx, actor, "realm_import_started", request_id, after)
    enqueue(tx, Imports(realm_id=tx.realm_id, request_id=request_id))


async def finish(
    tx: Tx, request_id: ImportRequestId, report: Mapping[str, Any], now: datetime
) -> None:
    """Record the end of an import, and remove its file."""
    row = await _lock(tx, request_id)
    if row is not None and row.state == "running":
        await _end(tx, replace(row, state="done", report=dict(report), ended_at=now))


async def fail(tx: Tx, request_id: ImportRequestId, problem: str, now: datetime) -> None:
    """Record why an import cannot go on, and remove its file."""
    row = await _lock(tx, request_id)
    if row is not None and row.is_under_way:
        await _end(tx, _failed(row, problem, now))


async def end_of_abandoned(tx: Tx, fingerprint: bytes, now: datetime) -> None:
    """End the requests of an import that was abandoned, and remove their file."""
    for row in await import_requests.of_realm(await tx.connection(), tx.realm_id):
        if row.fingerprint == fingerprint and row.state == "running":
            await fail(tx, row.request_id, ABANDONED, now)


async def delete(tx: Tx, actor: Actor, request_id: ImportRequestId) -> None:
    """Delete a request that is not under way; what was imported stays. Raises BadRequestError."""
    await lock_as_owner(tx, actor)
    row = await _wanted(tx, request_id)
    if row.state == "running":
        raise BadRequestError(_("This import is under way. Wait until it has ended."))
    await _delete(tx, row)
    _record(tx, actor, "realm_import_deleted", request_id, {"name": row.file_name})


async def expire(tx: Tx, request_id: ImportRequestId, before: datetime) -> None:
    """Delete a request at the end of its retention."""
    await lock_realm(tx, alone=True)
    row = await _lock(tx, request_id)
    if row is not None and not row.is_under_way and (row.ended_at or row.requested_at) < before:
        await _delete(tx, row)


async def go_on(tx: Tx, request_id: ImportRequestId) -> None:
    """Enqueue another job for an import that has not ended."""
    row = await _lock(tx, request_id)
    if row is not None and row.is_under_way:
        enqueue(tx, Imports(realm_id=tx.realm_id, request_id=request_id))


async def note_crash(tx: Tx, request_id: ImportRequestId, now: datetime) -> None:
    """Count an unexpected end of its process: the import goes on, or ends if that is in vain."""
    row = await _lock(tx, request_id)
    if row is None or not row.is_under_way:
        return
    crashed = replace(row, crashes=row.crashes + 1)
    if crashed.crashes >= MAX_CRASHES:
        await _end(tx, _failed(crashed, CRASHED, now))
        return
    await import_requests.update(await tx.changing(), tx.realm_id, crashed)
    job = Imports(realm_id=tx.realm_id, request_id=request_id)
    enqueue(tx, job, after_seconds=CRASH_PAUSE_SECONDS)


def _failed(row: ImportRequestRow, problem: str, now: datetime) -> ImportRequestRow:
    """Return the request with its problem, in English and so that it can be translated."""
    report = {**(row.report or _EMPTY_REPORT), PROBLEM: to_json(problem)}
    return replace(row, state="failed", problem=str(problem), report=report, ended_at=now)


def problem_of(row: ImportRequestRow) -> str:
    """Return why the import failed; empty if it did not."""
    stored = (row.report or {}).get(PROBLEM)
    return row.problem if stored is None else from_json(stored)


async def _check_room(tx: Tx) -> None:
    """Raise BadRequestError if the realm has too many requests."""
    rows = await import_requests.of_realm(await tx.connection(), tx.realm_id)
    if len(rows) >= MAX_REQUESTS:
        raise BadRequestError(
            _("There are {count} imports already: delete one first.", count=len(rows))
        )


async def _wanted(tx: Tx, request_id: ImportRequestId) -> ImportRequestRow:
    row = await _lock(tx, request_id)
    if row is None:
        raise NotFoundError(_("There is no such import."))
    return row


async def _lock(tx: Tx, request_id: ImportRequestId) -> ImportRequestRow | None:
    tx.must_be_exact()
    if await import_requests.by_id(await tx.connection(), tx.realm_id, request_id) is None:
        return None
    found = await tx.lock(import_requests.locking(tx.realm_id, request_id))
    return found[0] if found else None


async def _end(tx: Tx, row: ImportRequestRow) -> None:
    await import_requests.update(await tx.changing(), tx.realm_id, replace(row, blob_key=None))
    _remove_file(tx, row)


async def _delete(tx: Tx, row: ImportRequestRow) -> None:
    await import_requests.delete(await tx.changing(), tx.realm_id, row.request_id)
    _remove_file(tx, row)


def _remove_file(tx: Tx, row: ImportRequestRow) -> None:
    if row.blob_key is not None:
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=(row.blob_key,)))


def _record(
    tx: Tx, actor: Actor, action: str, request_id: ImportRequestId, after: Mapping[str, Any]
) -> Entry:
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record(tx, entry, actor.user_id, action, subject_id=request_id, before={}, after=after)
    return entry
