"""When the next of what people have put off is due, whatever it is."""

from datetime import datetime

from storage.database import Connection


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
