"""Audit log: one row for each change, written in the transaction of the change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, LiteralString

import orjson

from storage.database import Connection, Statement
from storage.ids import Position, RealmId, UserId

SubjectType = Literal[
    "user",
    "channel",
    "group",
    "channel_folder",
    "default_channel_group",
    "topic",
    "emoji",
    "linkifier",
    "playground",
    "profile_field",
    "realm_export",
    "realm_import",
    "legal_hold",
    "compliance_case",
]

_SUBJECT_TYPES: Final[tuple[tuple[str, SubjectType], ...]] = (
    ("channel_folder", "channel_folder"),
    ("channel", "channel"),
    ("subscri", "channel"),
    ("messages_expired", "channel"),
    ("default_channel_group", "default_channel_group"),
    ("group", "group"),
    ("topic", "topic"),
    ("emoji", "emoji"),
    ("linkifier", "linkifier"),
    ("playground", "playground"),
    ("profile_field", "profile_field"),
    ("realm_export", "realm_export"),
    ("realm_import", "realm_import"),
    ("legal_hold", "legal_hold"),
    ("compliance", "compliance_case"),
    ("api_key", "user"),
    ("avatar", "user"),
    ("bot", "user"),
    ("invitation", "user"),
    ("navigation_view", "user"),
    ("onboarding", "user"),
    ("profile_data", "user"),
    ("user", "user"),
)
"""Type of an entry's subject, by the prefix of its action: the first one that fits."""


def subject_type(action: str) -> SubjectType | None:
    """Return what the subject ids of an action are ids of; None for actions without a subject."""
    return next((each for start, each in _SUBJECT_TYPES if action.startswith(start)), None)


def actions_about(kind: SubjectType) -> str:
    """Return the regular expression of the actions with subjects of this type."""
    return "^(" + "|".join(start for start, each in _SUBJECT_TYPES if each == kind) + ")"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Old and new value of one subject; a subject of None stands for the realm."""

    subject_id: int | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def insert(
    realm_id: RealmId, *, actor_id: UserId | None, action: str, changes: Sequence[Change]
) -> Statement:
    """Insert the changes of an action, in order, at the current position of the clock."""
    return Statement(
        """
        INSERT INTO audit_log (realm_id, position, actor_id, action, subject_id, before, after)
        SELECT %(realm_id)s, current_position(), %(actor_id)s, %(action)s, c.subject_id, c.before,
               c.after
          FROM unnest(%(subject_ids)s::bigint[], %(before)s::text[]::jsonb[],
                      %(after)s::text[]::jsonb[]) AS c(subject_id, before, after)
        """,
        {
            "realm_id": realm_id,
            "actor_id": actor_id,
            "action": action,
            "subject_ids": [change.subject_id for change in changes],
            "before": [orjson.dumps(dict(change.before)).decode() for change in changes],
            "after": [orjson.dumps(dict(change.after)).decode() for change in changes],
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
    """Return rows newest first, optionally below an id, by one actor, or of one action."""
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


async def settings_changed_by_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], names: Sequence[str]
) -> set[tuple[UserId, str]]:
    """Return which of these personal settings each user has changed."""
    return set(
        await connection.tuples(
            """
            SELECT DISTINCT l.actor_id, n.name
              FROM audit_log l JOIN unnest(%(names)s::text[]) AS n(name)
                   ON jsonb_exists(l.after, n.name)
             WHERE l.realm_id = %(realm_id)s AND l.actor_id = ANY(%(user_ids)s::bigint[])
               AND l.subject_id = l.actor_id AND l.action = 'user_setting_changed'
            """,
            realm_id=realm_id,
            user_ids=list(user_ids),
            names=list(names),
        )
    )
