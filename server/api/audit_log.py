"""Endpoint of the audit log, for administrators."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Field, Params
from server.domain.access import OWNER
from server.domain.profiles import knows_email
from storage import audit_log, users
from storage.audit_log import AuditRow, SubjectType, subject_type
from storage.database import Connection
from storage.ids import Position, UserId

MAX_ENTRIES = 1_000
OWNERS_ONLY = ("legal_hold_", "compliance_")
"""Prefixes of actions of which others learn only that they took place."""
EMAIL = "email"
"""Key of an entry with the real address of its subject."""


class LogParams(Params):
    """Entries below `before`, newest first; optionally by one actor, of one action."""

    before: int | None = None
    """Return only entries with a lower id than this."""
    actor_id: int | None = None
    """Return only changes that this user made."""
    action: str | None = None
    """Return only changes of this kind, such as `user_deactivated`."""
    limit: Annotated[int, Field(ge=1, le=MAX_ENTRIES)] = 100
    """How many entries to return at most."""


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `actor_id` is null if it was made by an operator or the server.

    `subject_type` is what `subject_id` is the id of; null with it, for changes of the realm.
    """

    id: int
    position: Position
    timestamp: float
    actor_id: UserId | None
    action: str
    subject_id: int | None
    subject_type: SubjectType | None
    before: dict[str, Any]
    after: dict[str, Any]

    @classmethod
    def of(cls, row: AuditRow) -> "AuditEntry":
        return cls(
            id=row.audit_id,
            position=row.position,
            timestamp=row.happened_at.timestamp(),
            actor_id=row.actor_id,
            action=row.action,
            subject_id=row.subject_id,
            subject_type=None if row.subject_id is None else subject_type(row.action),
            before=row.before,
            after=row.after,
        )


class LogResult(Result):
    entries: list[AuditEntry]


async def read(request: Request, params: LogParams) -> LogResult:
    async with request.read() as connection:
        rows = await audit_log.newest(
            connection,
            request.actor.realm_id,
            limit=params.limit,
            below=params.before,
            actor_id=None if params.actor_id is None else UserId(params.actor_id),
            action=params.action,
        )
        if request.actor.role != OWNER:
            rows = [_for_administrators(row) for row in rows]
        hidden = await _hidden_addresses(request, connection, rows)
    return LogResult(entries=[AuditEntry.of(_without(row, hidden)) for row in rows])


def _for_administrators(row: AuditRow) -> AuditRow:
    """Return the row without values that only owners may know."""
    if not row.action.startswith(OWNERS_ONLY):
        return row
    return replace(row, before={}, after={})


async def _hidden_addresses(
    request: Request, connection: Connection, rows: Sequence[AuditRow]
) -> set[int]:
    """Return the users with addresses in the entries that the caller may not know."""
    ids = {row.subject_id for row in rows if EMAIL in {*row.before, *row.after}}
    people = await users.by_ids(
        connection, request.actor.realm_id, [UserId(each) for each in ids if each is not None]
    )
    return {row.user_id for row in people if not knows_email(request.actor.row, row)}


def _without(row: AuditRow, hidden: set[int]) -> AuditRow:
    """Return the row without an address that is hidden."""
    if row.subject_id not in hidden:
        return row
    before, after = (
        {name: value for name, value in each.items() if name != EMAIL}
        for each in (row.before, row.after)
    )
    return replace(row, before=before, after=after)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/audit_log",
        Access.ADMIN,
        LogParams,
        read,
        LogResult,
        summary="Read the audit log",
        description=(
            "Changes of settings, permissions, accounts and groups, newest first: the acting"
            " user, the time, and the values before and after. To page on, pass the lowest `id`"
            " received as `before`. Of legal holds and compliance cases only owners get the values."
        ),
    ),
)
