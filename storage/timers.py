"""When the next of what people have put off is due, whatever it is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from storage.database import Connection
from storage.ids import RealmId


async def now(connection: Connection) -> datetime:
    """The time by the database's clock: the same for all who look for what is due."""
    moment: datetime = await connection.value("SELECT clock_timestamp()")
    return moment


async def next_at(connection: Connection, *, after: datetime) -> datetime | None:
    """The first time after that one at which something is due in some realm, if there is any."""
    moment: datetime | None = await connection.value(
        """
        SELECT least(
            (SELECT min(due_at) FROM scheduled_messages
              WHERE failure IS NULL AND due_at > %(after)s),
            (SELECT min(due_at) FROM reminders WHERE failure IS NULL AND due_at > %(after)s))
        """,
        after=after,
    )
    return moment


def window(now: datetime, without: Sequence[tuple[RealmId, int]], limit: int) -> dict[str, Any]:
    """Parameters of a query for what is due, but for some, in a realm so many at most."""
    return {
        "now": now,
        "realms": [realm_id for realm_id, _ in without],
        "ids": [timer_id for _, timer_id in without],
        "limit": limit,
    }


def telling(
    realm_id: RealmId, timer_id: int, audience: bytes, body: bytes, write_id: str
) -> dict[str, Any]:
    """Parameters of what follows from a send. They stand beside those of the send itself."""
    return {
        "realm_id": realm_id,
        "timer_id": timer_id,
        "timer_audience": audience,
        "timer_body": body,
        "write_id": write_id,
    }
