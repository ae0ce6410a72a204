"""Moving many messages takes several transactions: what is left to do, and to tell."""

from dataclasses import dataclass
from typing import Any, LiteralString

from storage.database import Connection, Locking
from storage.ids import MessageId, RealmId


@dataclass(frozen=True, slots=True)
class MovingRow:
    work_id: str
    plan: dict[str, Any]
    """Of server/actions/messages/moving_steps.py."""
    done_until: MessageId
    """Up to here everything has been moved."""


_SELECT: LiteralString = """
    SELECT work_id::text, plan, done_until FROM moving_work
     WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid"""


async def by_id(connection: Connection, realm_id: RealmId, work_id: str) -> MovingRow | None:
    """The work, or None if it is done."""
    return await connection.one(MovingRow, _SELECT, realm_id=realm_id, work_id=work_id)


def locking(realm_id: RealmId, work_id: str) -> Locking[MovingRow]:
    """The work, if it is not done. Locked before anything else by all who go on with it."""
    return Locking(MovingRow, _SELECT, {"realm_id": realm_id, "work_id": work_id}, expected=1)


async def insert(connection: Connection, realm_id: RealmId, row: MovingRow) -> None:
    await connection.execute(
        """
        INSERT INTO moving_work (realm_id, work_id, plan, done_until)
        VALUES (%(realm_id)s, %(work_id)s::uuid, %(plan)s, %(done_until)s)
        """,
        realm_id=realm_id,
        work_id=row.work_id,
        plan=connection.json(row.plan),
        done_until=row.done_until,
    )


async def go_on(
    connection: Connection, realm_id: RealmId, work_id: str, *, done_until: MessageId
) -> None:
    """Everything up to here has been moved."""
    await connection.execute(
        """
        UPDATE moving_work SET done_until = %(done_until)s
         WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid
        """,
        realm_id=realm_id,
        work_id=work_id,
        done_until=done_until,
    )


async def delete(connection: Connection, realm_id: RealmId, work_id: str) -> None:
    """The work is done."""
    await connection.execute(
        """
        DELETE FROM moving_work
         WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid
        """,
        realm_id=realm_id,
        work_id=work_id,
    )
