"""LISTEN and NOTIFY, on connections of their own that bypass every pooler."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import psycopg
from psycopg import sql

from storage.database import Connection, Database, DatabaseUnavailableError
from storage.driver import PgConnection

STALLED_MILLISECONDS = 60_000
"""Timeout of Postgres for a stalled listener: unread notifications are kept for all, and at 8 GB no
session can notify any more. Over a Unix socket it waits for ever.
"""


@asynccontextmanager
async def listening(database: Database, channel: str) -> AsyncIterator[AsyncIterator[str]]:
    """Yield the payloads notified on the channel from now on, while the connection lives.

    Its end, and a failure to start, raise DatabaseUnavailableError.
    """
    async with database.direct(f"listen {channel}") as connection:
        await connection.execute(
            "SELECT set_config('tcp_user_timeout', %s, false)", [str(STALLED_MILLISECONDS)]
        )
        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        # psycopg's generator holds the connection's lock until it is closed.
        async with aclosing(_payloads(connection)) as payloads:
            yield payloads


async def _payloads(connection: PgConnection) -> AsyncGenerator[str, None]:
    async with aclosing(connection.notifies()) as notifications:
        async for notification in notifications:
            yield notification.payload


class Notifier:
    """Send notifications. Each call is a commit of its own, because NOTIFY serialises commits.

    A crash of Postgres may lose the last of them: listeners have to check again after one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def notify(self, channel: str, payloads: Sequence[str]) -> None:
        """Notify listeners once for each payload, in order, in one round trip.

        Raises DatabaseUnavailableError if nothing was sent, or perhaps nothing.
        """
        try:
            await self._connection.execute(
                """
                SELECT pg_notify(%(channel)s, payload)
                FROM unnest(%(payloads)s::text[]) WITH ORDINALITY AS sent (payload, place)
                ORDER BY place
                """,
                channel=channel,
                payloads=list(payloads),
            )
        except psycopg.errors.ProgramLimitExceeded as full:  # a listener that has stopped reading
            raise DatabaseUnavailableError(str(full)) from full


@asynccontextmanager
async def notifying(database: Database) -> AsyncIterator[Notifier]:
    """Yield a notifier on a connection of its own."""
    async with database.direct("notify") as raw:
        connection = Connection(raw)
        # Waiting for the flush of a commit with no lasting effect would delay real ones.
        await connection.execute("SET synchronous_commit = off")
        yield Notifier(connection)
