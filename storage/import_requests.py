"""Imports that owners have asked for over the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString

from storage.database import Connection, Locking
from storage.ids import ImportRequestId, RealmId, UserId

ImportState = Literal["reading", "ready", "running", "done", "failed"]
"""`reading`: what the file contains is being found out; `ready`: it is known, and the import waits
to be started.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequestRow:
    request_id: ImportRequestId
    acting_user_id: UserId
    file_name: str
    size: int
    """In bytes."""
    blob_key: str | None
    """Key of the file; None: it was removed."""
    state: ImportState
    source: str
    """Name of the program that wrote the file; empty: not known yet."""
    topic: str
    """Name of the topic for messages outside of threads; empty: the usual one."""
    fingerprint: bytes | None
    """Tells which import it is (storage/imports.py)."""
    problem: str
    """Why it failed, as a sentence."""
    crashes: int
    """How often its process has ended unexpectedly."""
    report: dict[str, Any] | None
    """What the file contains, and in the end what was imported."""
    requested_at: datetime
    ended_at: datetime | None

    @property
    def is_under_way(self) -> bool:
        return self.state in ("reading", "running")


_SELECT: LiteralString = """
    SELECT request_id, acting_user_id, file_name, size, blob_key, state, source, topic, fingerprint,
           problem, crashes, report, requested_at, ended_at
      FROM import_requests WHERE realm_id = %(realm_id)s"""


async def of_realm(connection: Connection, realm_id: RealmId) -> list[ImportRequestRow]:
    """Return all requests of the realm, the newest first."""
    sql = _SELECT + " ORDER BY request_id DESC"
    return await connection.many(ImportRequestRow, sql, realm_id=realm_id)


async def by_id(
    connection: Connection, realm_id: RealmId, request_id: ImportRequestId
) -> ImportRequestRow | None:
    sql = _SELECT + " AND request_id = %(request_id)s"
    return await connection.one(ImportRequestRow, sql, realm_id=realm_id, request_id=request_id)


async def by_blob(
    connection: Connection, realm_id: RealmId, blob_key: str
) -> ImportRequestRow | None:
    """Return the request for the file with this key."""
    sql = _SELECT + " AND blob_key = %(blob_key)s"
    return await connection.one(ImportRequestRow, sql, realm_id=realm_id, blob_key=blob_key)


def locking(realm_id: RealmId, request_id: ImportRequestId) -> Locking[ImportRequestRow]:
    """Return the query that locks this request."""
    sql = _SELECT + " AND request_id = %(request_id)s"
    parameters = {"realm_id": realm_id, "request_id": request_id}
    return Locking(ImportRequestRow, sql, parameters, expected=1)


async def insert(
    connection: Connection,
    realm_id: RealmId,
    *,
    acting_user_id: UserId,
    file_name: str,
    size: int,
    blob_key: str,
    requested_at: datetime,
) -> ImportRequestId:
    """Insert a request with a file to be read; return its id."""
    request_id: int = await connection.value(
        """
        INSERT INTO import_requests (realm_id, acting_user_id, file_name, size, blob_key, state,
                                     requested_at)
        VALUES (%(realm_id)s, %(acting_user_id)s, %(file_name)s, %(size)s, %(blob_key)s, 'reading',
                %(requested_at)s)
        RETURNING request_id
        """,
        realm_id=realm_id,
        acting_user_id=acting_user_id,
        file_name=file_name,
        size=size,
        blob_key=blob_key,
        requested_at=requested_at,
    )
    return ImportRequestId(request_id)


async def update(connection: Connection, realm_id: RealmId, row: ImportRequestRow) -> None:
    """Update the state of a locked request."""
    await connection.execute(
        """
        UPDATE import_requests
           SET blob_key = %(blob_key)s, state = %(state)s, source = %(source)s, topic = %(topic)s,
               fingerprint = %(fingerprint)b, problem = %(problem)s, crashes = %(crashes)s,
               report = %(report)s, ended_at = %(ended_at)s
         WHERE realm_id = %(realm_id)s AND request_id = %(request_id)s
        """,
        realm_id=realm_id,
        request_id=row.request_id,
        blob_key=row.blob_key,
        state=row.state,
        source=row.source,
        topic=row.topic,
        fingerprint=row.fingerprint,
        problem=row.problem,
        crashes=row.crashes,
        report=None if row.report is None else connection.json(row.report),
        ended_at=row.ended_at,
    )


async def delete(connection: Connection, realm_id: RealmId, request_id: ImportRequestId) -> None:
    await connection.execute(
        """
        DELETE FROM import_requests
         WHERE realm_id = %(realm_id)s AND request_id = %(request_id)s
        """,
        realm_id=realm_id,
        request_id=request_id,
    )


async def ended_before(
    connection: Connection, realm_id: RealmId, before: datetime
) -> list[ImportRequestId]:
    """Return requests that ended, or have waited for their start, since before this time."""
    return await connection.values(
        """
        SELECT request_id FROM import_requests
         WHERE realm_id = %(realm_id)s AND state NOT IN ('reading', 'running')
           AND coalesce(ended_at, requested_at) < %(before)s
        """,
        realm_id=realm_id,
        before=before,
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that belong to a request's file."""
    return await connection.values(
        """
        SELECT blob_key FROM import_requests
         WHERE realm_id = %(realm_id)s AND blob_key = ANY(%(keys)s::text[])
        """,
        realm_id=realm_id,
        keys=list(keys),
    )
