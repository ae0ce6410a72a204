"""Timers: the next due time of scheduled messages and reminders."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from storage.database import Connection
from storage.ids import RealmId

TimerKey = tuple[RealmId, int]
"""Realm, and id of a timer in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWindow:
    """A query for what is due."""

    now: datetime
    without: Sequence[TimerKey] = ()
    """Timers to skip."""
    busy: Sequence[RealmId] = ()
    """Realms to skip."""
    realms: int
    """Maximum number of realms: those that have waited longest."""
    limit: int
    """Maximum number of rows per realm."""

    def params(self) -> dict[str, Any]:
        """Return the parameters of `due`."""
        return {
            "now": self.now,
            "without_realms": [realm_id for realm_id, _ in self.without],
            "without_ids": [timer_id for _, timer_id in self.without],
            "busy": list(self.busy),
            "realms": self.realms,
            "limit": self.limit,
        }


async def now(connection: Connection) -> datetime:
    """Return the time by the database's clock, so that all processes agree on what is due."""
    moment: datetime = await connection.value("SELECT clock_timestamp()")
    return moment


async def next_at(connection: Connection, *, after: datetime) -> datetime | None:
    """Return the first due time after that one in any realm, if there is any."""
    moment: datetime | None = await connection.value(
        """
        SELECT least(
            (SELECT min(due_at) FROM scheduled_messages
              WHERE failure IS NULL AND due_at > %(after)s),
            (SELECT min(due_at) FROM reminders WHERE failure IS NULL AND due_at > %(after)s),
            (SELECT min(due_at) FROM reaction_notifications WHERE due_at > %(after)s))
        """,
        after=after,
    )
    return moment


_LATE: Final[LiteralString] = """
     WHERE t.failure IS NULL AND t.due_at <= %(now)s
       AND NOT EXISTS (
           SELECT FROM unnest(%(without_realms)s::bigint[], %(without_ids)s::bigint[])
               AS o (realm_id, id)
            WHERE o.realm_id = t.realm_id AND o.id = i.timer_id)"""
_REALMS: Final[LiteralString] = "WITH late AS (SELECT t.realm_id"
_OF_EACH: Final[LiteralString] = """
       AND t.realm_id <> ALL(%(busy)s::bigint[])
     GROUP BY t.realm_id ORDER BY min(t.due_at), t.realm_id LIMIT %(realms)s)
    SELECT each.* FROM late CROSS JOIN LATERAL ("""
_THESE: Final[LiteralString] = """
      JOIN unnest(%(realm_ids)s::bigint[], %(ids)s::bigint[]) AS o (realm_id, id)
           ON o.realm_id = t.realm_id AND o.id = i.timer_id
     WHERE t.failure IS NULL"""
_IN_ORDER: Final[LiteralString] = """
       AND t.realm_id = late.realm_id
     ORDER BY t.due_at, i.timer_id LIMIT %(limit)s) AS each"""


def due(columns: LiteralString, waiting: LiteralString) -> LiteralString:
    """Return a query for a window's due rows, of each realm the longest due first.

    `waiting` is the FROM clause, with alias t; its ids are i.timer_id.
    """
    late = waiting + _LATE
    return _REALMS + late + _OF_EACH + columns + late + _IN_ORDER


def among(columns: LiteralString, waiting: LiteralString) -> LiteralString:
    """Return a query for those of some rows that have not failed; `waiting` as for `due`."""
    return columns + waiting + _THESE


def keys(timer_keys: Sequence[TimerKey]) -> dict[str, Any]:
    """Return the parameters of `among`."""
    return {
        "realm_ids": [realm_id for realm_id, _ in timer_keys],
        "ids": [timer_id for _, timer_id in timer_keys],
    }


def follow_up_params(
    realm_id: RealmId, timer_id: int, audience: bytes, body: bytes, write_id: str
) -> dict[str, Any]:
    """Return parameters of a statement that follows a send, beside those of the send."""
    return {
        "realm_id": realm_id,
        "timer_id": timer_id,
        "timer_audience": audience,
        "timer_body": body,
        "write_id": write_id,
    }
