"""State of work that takes several transactions."""

from dataclasses import dataclass
from typing import Any, LiteralString

from storage.database import Connection, Locking
from storage.ids import RealmId


@dataclass(frozen=True, slots=True)
class WorkRow:
    work_id: str
    plan: dict[str, Any]
    """What is to be done, in the format of its kind."""
    done: int | None
    """Progress, in the unit of its kind. None: only notifications are left."""


_SELECT: LiteralString = """
    SELECT work_id::text, plan, done FROM stepped_work
     WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid"""


async def by_id(connection: Connection, realm_id: RealmId, work_id: str) -> WorkRow | None:
    """Return the work, or None if it is done."""
    return await connection.one(WorkRow, _SELECT, realm_id=realm_id, work_id=work_id)


def locking(realm_id: RealmId, work_id: str) -> Locking[WorkRow]:
    """Return the query that locks the work, if it is not done. Taken before any other lock."""
    return Locking(WorkRow, _SELECT, {"realm_id": realm_id, "work_id": work_id}, expected=1)


async def insert(connection: Connection, realm_id: RealmId, row: WorkRow) -> None:
    await connection.execute(
        """
        INSERT INTO stepped_work (realm_id, work_id, plan, done)
        VALUES (%(realm_id)s, %(work_id)s::uuid, %(plan)s, %(done)s)
        """,
        realm_id=realm_id,
        work_id=row.work_id,
        plan=connection.json(row.plan),
        done=row.done,
    )


async def go_on(
    connection: Connection, realm_id: RealmId, work_id: str, *, done: int | None
) -> None:
    """Update the progress."""
    # A long plan stays in place: only a row that points to it is written.
    await connection.execute(
        """
        UPDATE stepped_work SET done = %(done)s
         WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid
        """,
        realm_id=realm_id,
        work_id=work_id,
        done=done,
    )


async def delete(connection: Connection, realm_id: RealmId, work_id: str) -> None:
    """Delete the finished work."""
    await connection.execute(
        """
        DELETE FROM stepped_work
         WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid
        """,
        realm_id=realm_id,
        work_id=work_id,
    )
