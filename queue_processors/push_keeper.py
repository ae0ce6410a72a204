"""Keeps what is known of whether organizations get push notifications."""

import asyncio
import random
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from queue_processors.processor import NotNowError
from server.actions.push_status import PushStatus, keep_push_status
from server.app import App
from server.domain.realm_settings import RealmSettings
from server.push.realms import introduce
from server.push.service import NeedsOperatorError, PushError, RefusedError, UnknownRealmError
from storage import realms
from storage.database import DatabaseUnavailableError, StatementTimeoutError
from storage.realms import RealmRow

logger = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 6 * 3600.0
OFF: Final = PushStatus(enabled=False)


@dataclass(frozen=True, slots=True)
class PushKeeper:
    """Asks the service at the start and every few hours; several may run."""

    app: App

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                await self.settle()
            except (DatabaseUnavailableError, StatementTimeoutError, PushError) as error:
                logger.warning("cannot ask about push notifications now", error=str(error))
            await asyncio.sleep(LOOK_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load

    async def settle(self) -> None:
        """Keep for each organization whether its people get push notifications.

        While the service cannot be asked, what it said last holds. Raises a PushError then.
        """
        async with self.app.database.connection() as connection:
            rows = await realms.all_of_them(connection)
        said = await self._ask(rows)
        for row in rows:
            status = said.get(row.uuid, OFF)
            if not (row.deactivated or status.is_kept_in(RealmSettings.of(row.settings))):
                write = self.app.writers.of(row.realm_id).write
                await write(partial(keep_push_status, status=status))

    async def _ask(self, rows: list[RealmRow]) -> dict[str, PushStatus]:
        if self.app.pushes is None:
            return {}
        try:
            return await introduce(self.app.pushes, rows, self.app)
        except (NeedsOperatorError, RefusedError) as error:
            logger.warning("no push notifications are taken from here", error=str(error))
            return {}


async def introducing(app: App, work: Awaitable[None]) -> None:
    """Do the work of a job; if the service does not know the organization yet, introduce it.

    Raises NotNowError then: the job's next attempt finds it known.
    """
    try:
        await work
    except UnknownRealmError as error:
        assert app.pushes is not None, "nobody else could have said that"
        async with app.database.connection() as connection:
            rows = await realms.all_of_them(connection)
        await introduce(app.pushes, rows, app)
        raise NotNowError(str(error), after_seconds=0.0) from error
