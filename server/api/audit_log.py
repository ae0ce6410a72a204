"""Who changed what, for administrators."""

from typing import Annotated, Any

import msgspec

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Field, Params
from storage import audit_log
from storage.audit_log import AuditRow
from storage.ids import Position, UserId

MAX_ENTRIES = 1_000


class LogParams(Params):
    """The entries below `before`, newest first; by one actor, of one action."""

    before: int | None = None
    actor_id: int | None = None
    action: str | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_ENTRIES)] = 100


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `actor_id` is null where an operator or the server made it."""

    id: int
    position: Position
    timestamp: float
    actor_id: UserId | None
    action: str
    subject_id: int | None
    before: dict[str, Any]
    after: dict[str, Any]

    @classmethod
    def of(cls, row: AuditRow) -> "LogEntry":
        return cls(
            id=row.audit_id,
            position=row.position,
            timestamp=row.happened_at.timestamp(),
            actor_id=row.actor_id,
            action=row.action,
            subject_id=row.subject_id,
            before=row.before,
            after=row.after,
        )


class LogResult(Result):
    entries: list[LogEntry]


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
    return LogResult(entries=[LogEntry.of(row) for row in rows])


ENDPOINTS = (Endpoint("GET", "/realm/audit_log", Access.ADMIN, LogParams, read, LogResult),)
