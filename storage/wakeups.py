"""LISTEN and NOTIFY, on connections of their own that never go through a pooler."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import psycopg
from psycopg import sql

from storage.database import Connection, Database, DatabaseUnavailableError
from storage.driver import PgConnection

STALLED_MILLISECONDS = 60_000
"""How long Postgres waits for a listener that takes nothing: what it has not read is kept for
everybody, and when that is 8 GB nobody can notify any more. Over a Unix socket it waits for ever.
"""


@asynccontextmanager
async def listening(database: Database, channel: str) -> AsyncIterator[AsyncIterator[str]]:
    """The payloads notified on the channel after this is entered, while the connection lives.

    Its end, and the failure to begin, is a DatabaseUnavailableError.
    """
    async with database.direct() as connection:
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
    """Sends wake-ups. Each call is a commit of its own, for NOTIFY serialises all commits.

    A crash of Postgres may forget the last of them: whoever listens has to look again after one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def notify(self, channel: str, payloads: Sequence[str]) -> None:
        """Wake whoever listens, once for each payload, in order, in one round trip.

        DatabaseUnavailableError where nothing was sent, or perhaps nothing.
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
    """A connection to send wake-ups on."""
    async with database.direct() as raw:
        connection = Connection(raw)
        # Whoever waits for the flush of a commit that says nothing lasting holds up real ones.
        await connection.execute("SET synchronous_commit = off")
        yield Notifier(connection)
