"""Who changed what: one row for each change, written with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import orjson

from storage.database import Connection, Statement
from storage.ids import Position, RealmId, UserId


@dataclass(frozen=True, slots=True)
class AuditRow:
    audit_id: int
    position: Position
    happened_at: datetime
    actor_id: UserId | None
    action: str
    subject_id: int | None
    before: dict[str, Any]
    after: dict[str, Any]


_SELECT: LiteralString = """
    SELECT audit_id, position, happened_at, actor_id, action, subject_id, before, after
      FROM audit_log WHERE realm_id = %(realm_id)s"""


def insert(
    realm_id: RealmId,
    *,
    actor_id: UserId | None,
    action: str,
    subject_id: int | None,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> Statement:
    """Keep that this has been done at the current position."""
    return Statement(
        """
        INSERT INTO audit_log (realm_id, position, actor_id, action, subject_id, before, after)
        VALUES (%(realm_id)s, current_position(), %(actor_id)s, %(action)s, %(subject_id)s,
                %(before)s::jsonb, %(after)s::jsonb)
        """,
        {
            "realm_id": realm_id,
            "actor_id": actor_id,
            "action": action,
            "subject_id": subject_id,
            "before": orjson.dumps(dict(before)).decode(),
            "after": orjson.dumps(dict(after)).decode(),
        },
    )


async def newest(
    connection: Connection,
    realm_id: RealmId,
    *,
    limit: int,
    below: int | None = None,
    actor_id: UserId | None = None,
    action: str | None = None,
) -> list[AuditRow]:
    """The newest rows, newest first; those below an id, by one actor, of one action."""
    sql = _SELECT
    if below is not None:
        sql += " AND audit_id < %(below)s"
    if actor_id is not None:
        sql += " AND actor_id = %(actor_id)s"
    if action is not None:
        sql += " AND action = %(action)s"
    return await connection.many(
        AuditRow,
        sql + " ORDER BY audit_id DESC LIMIT %(limit)s",
        realm_id=realm_id,
        below=below,
        actor_id=actor_id,
        action=action,
        limit=limit,
    )
