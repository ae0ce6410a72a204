"""Compliance officers, and the cases in which they search all messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from storage.database import Connection, Locking
from storage.ids import ComplianceCaseId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class OfficerRow:
    user_id: UserId
    creator_id: UserId
    appointed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    case_id: ComplianceCaseId
    creator_id: UserId
    reason: str
    hours: int
    """For how long its creator may search, once it is open."""
    needs_approval: bool
    opened_at: datetime
    approver_id: UserId | None
    ends_at: datetime | None
    """None until it has been approved, if it has to be."""
    closed_at: datetime | None
    searches: int


async def officers(connection: Connection, realm_id: RealmId) -> list[OfficerRow]:
    """Return the officers in the order of their appointments."""
    return await connection.many(
        OfficerRow,
        """
        SELECT user_id, creator_id, appointed_at FROM compliance_officers
         WHERE realm_id = %(realm_id)s ORDER BY appointed_at, user_id
        """,
        realm_id=realm_id,
    )


async def is_officer(connection: Connection, realm_id: RealmId, user_id: UserId) -> bool:
    """Return whether the user is an officer: appointed, active, a person, and no guest."""
    found: bool = await connection.value(
        """
        SELECT EXISTS (
            SELECT FROM compliance_officers o
              JOIN users u ON u.realm_id = o.realm_id AND u.user_id = o.user_id
             WHERE o.realm_id = %(realm_id)s AND o.user_id = %(user_id)s
               AND u.is_active AND u.bot_type IS NULL AND u.role < 600)
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
    return found


async def appoint(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, creator_id: UserId, now: datetime
) -> bool:
    """Insert an officer; return False if the user is one already."""
    count = await connection.execute(
        """
        INSERT INTO compliance_officers (realm_id, user_id, creator_id, appointed_at)
        VALUES (%(realm_id)s, %(user_id)s, %(creator_id)s, %(now)s)
        ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        user_id=user_id,
        creator_id=creator_id,
        now=now,
    )
    return count > 0


async def dismiss(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], *, now: datetime
) -> list[UserId]:
    """Delete officers, and close their cases; return those of the users who were officers."""
    return await connection.values(
        """
        WITH gone AS (
            DELETE FROM compliance_officers
             WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s::bigint[])
            RETURNING user_id
        ), cases AS (
            UPDATE compliance_cases SET closed_at = %(now)s
             WHERE realm_id = %(realm_id)s AND closed_at IS NULL
               AND creator_id = ANY(%(user_ids)s::bigint[])
               AND (ends_at IS NULL OR ends_at > %(now)s)
        )
        SELECT user_id FROM gone ORDER BY user_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        now=now,
    )


async def needs_two_persons(connection: Connection, realm_id: RealmId) -> bool:
    """Return whether another officer has to approve each case."""
    found: bool | None = await connection.value(
        "SELECT bool_or(needs_two_persons) FROM compliance_rules WHERE realm_id = %(realm_id)s",
        realm_id=realm_id,
    )
    return bool(found)


async def set_needs_two_persons(connection: Connection, realm_id: RealmId, *, needed: bool) -> None:
    await connection.execute(
        """
        INSERT INTO compliance_rules (realm_id, needs_two_persons)
        VALUES (%(realm_id)s, %(needed)s)
        ON CONFLICT (realm_id) DO UPDATE SET needs_two_persons = excluded.needs_two_persons
        """,
        realm_id=realm_id,
        needed=needed,
    )


# -- cases

_SELECT: LiteralString = """
    SELECT case_id, creator_id, reason, hours, needs_approval, opened_at, approver_id, ends_at,
           closed_at, searches
      FROM compliance_cases WHERE realm_id = %(realm_id)s"""


async def cases(connection: Connection, realm_id: RealmId, *, limit: int) -> list[CaseRow]:
    """Return the newest cases, newest first."""
    sql = _SELECT + " ORDER BY case_id DESC LIMIT %(limit)s"
    return await connection.many(CaseRow, sql, realm_id=realm_id, limit=limit)


async def case_by_id(
    connection: Connection, realm_id: RealmId, case_id: ComplianceCaseId
) -> CaseRow | None:
    sql = _SELECT + " AND case_id = %(case_id)s"
    return await connection.one(CaseRow, sql, realm_id=realm_id, case_id=case_id)


def locking_case(realm_id: RealmId, case_id: ComplianceCaseId) -> Locking[CaseRow]:
    """Return the query that locks this case."""
    sql = _SELECT + " AND case_id = %(case_id)s"
    return Locking(CaseRow, sql, {"realm_id": realm_id, "case_id": case_id}, expected=1)


async def insert_case(connection: Connection, realm_id: RealmId, row: CaseRow) -> ComplianceCaseId:
    """Insert a case; the row's own id is ignored."""
    case_id: ComplianceCaseId = await connection.value(
        """
        INSERT INTO compliance_cases (realm_id, creator_id, reason, hours, needs_approval,
                                      opened_at, ends_at)
        VALUES (%(realm_id)s, %(creator_id)s, %(reason)s, %(hours)s, %(needs_approval)s,
                %(opened_at)s, %(ends_at)s)
        RETURNING case_id
        """,
        realm_id=realm_id,
        creator_id=row.creator_id,
        reason=row.reason,
        hours=row.hours,
        needs_approval=row.needs_approval,
        opened_at=row.opened_at,
        ends_at=row.ends_at,
    )
    return case_id


async def update_case(connection: Connection, realm_id: RealmId, row: CaseRow) -> None:
    """Update the state of a locked case."""
    await connection.execute(
        """
        UPDATE compliance_cases
           SET approver_id = %(approver_id)s, ends_at = %(ends_at)s, closed_at = %(closed_at)s,
               searches = %(searches)s
         WHERE realm_id = %(realm_id)s AND case_id = %(case_id)s
        """,
        realm_id=realm_id,
        case_id=row.case_id,
        approver_id=row.approver_id,
        ends_at=row.ends_at,
        closed_at=row.closed_at,
        searches=row.searches,
    )
