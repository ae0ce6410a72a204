"""Try what serving needs of a database, without changing it."""

import asyncio
import secrets
from typing import Final

import psycopg

from storage.database import (
    Database,
    DatabaseUnavailableError,
    StatementTimeoutError,
    open_database,
)
from storage.reasons import reason_of
from storage.rights import RightMissingError
from storage.wakeups import listening, notifying

CONNECTIONS: Final = 4
"""Fewer than a process has, and enough to see whether they are shared or limited."""
TRIAL_SECONDS: Final = 20.0
LOCK: Final = 0x5041_0002


def refusal_of_serving(url: str) -> str | None:
    """Return why serving would fail, as one sentence; None if it would not."""
    return asyncio.run(_refusal(url))


async def _refusal(url: str) -> str | None:
    try:
        async with (
            asyncio.timeout(TRIAL_SECONDS),
            open_database(url, min_size=CONNECTIONS, max_size=CONNECTIONS) as database,
        ):
            await _use(database)
    except (DatabaseUnavailableError, RightMissingError, StatementTimeoutError) as error:
        return f"{str(error).rstrip('.')}."
    except psycopg.Error as error:
        return f"The database refuses what serving needs: {reason_of(error)}."
    except TimeoutError:
        return f"The database did not do within {TRIAL_SECONDS:.0f} seconds what serving needs."
    return None


async def _use(database: Database) -> None:
    """Use connections in all ways in which a server does."""
    async with database.snapshot() as connection:
        await connection.value("SELECT 1")
    async with database.transaction() as connection:
        await connection.value("SELECT pg_advisory_xact_lock(%(lock)s)", lock=LOCK)
    channel, said = f"parley_trial_{secrets.token_hex(4)}", secrets.token_hex(4)
    async with listening(database, channel) as heard, notifying(database) as notifier:
        await notifier.notify(channel, [said])
        await anext(heard)
