"""Health and readiness checks, for load balancers and alerts."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec

from server.app import App
from server.telemetry.overview import AWAY, LAG_SECONDS
from storage import health, workers
from storage.database import ConnectionLostError
from storage.reasons import UNKNOWN, brief_of
from storage.refusals import RefusedError

HEALTH: Final = "/health"
READY: Final = "/ready"
CHECKED_PATHS: Final = frozenset({HEALTH, READY})

CHECK_TIMEOUT_SECONDS: Final = 3.0
WELL: Final = "ok"
NO_WRITES: Final = "takes no writes"
PROBE_MAX_AGE_SECONDS: Final = 2.0
"""Maximum age of the probe for room for writes."""


class Findings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Each is "ok", or the problem."""

    status: str
    database: str
    broker: str
    shipper: str
    refused: list[str] = []
    """As in Readiness."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether to send requests to this process."""

    status: str
    database: str
    refused: list[str] = []
    """Databases that are refused, and why: an old primary that is back."""


class Checks:
    """Answers `/health` and `/ready`, with 200 or 503, without authentication.

    Health covers everything: the database, the broker, and whether a shipper runs. Readiness is
    whether this process can serve requests: it can also while the broker is away, because events
    and jobs are only delayed then; and not while it drains.
    """

    def __init__(self, app: App, is_draining: Callable[[], bool] = lambda: False) -> None:
        self._app = app
        self._is_draining = is_draining
        self._probed_at: float | None = None
        self._probed = WELL

    async def answer(self, path: str) -> tuple[int, bytes]:
        """Return status and body."""
        findings = await self.look()
        if path == READY:
            database = findings.database
            status = "draining" if self._is_draining() else database
            ready = Readiness(
                status=status if status in {WELL, "draining"} else "not ready",
                database=database,
                refused=findings.refused,
            )
            return _status(ready.status), msgspec.json.encode(ready)
        return _status(findings.status), msgspec.json.encode(findings)

    async def look(self) -> Findings:
        """Return all findings, within a few seconds in any case."""
        database, shipper = await self._ask_database()
        broker = WELL if self._app.bus.is_connected else "not connected"
        is_well = {database, shipper, broker} == {WELL}
        return Findings(
            status=WELL if is_well else "unwell",
            database=database,
            broker=broker,
            shipper=shipper,
            refused=self._app.database.connector.refused_briefly,
        )

    async def _ask_database(self) -> tuple[str, str]:
        """Return the findings about the database, and about the shipper, which it knows."""
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
                async with self._app.database.connection() as connection:
                    takes_writes = await health.takes_writes(connection)
                    lag = await workers.ship_lag(connection)
        except AWAY:
            return self._why_no_answer(), "not known"
        database = await self._why_no_writes() if takes_writes else NO_WRITES
        if lag is None:
            return database, "no worker leads it"
        return database, WELL if lag < LAG_SECONDS else f"{lag:.0f} seconds behind the log"

    async def _why_no_writes(self) -> str:
        """Return why there is no room for writes, as of a moment ago."""
        now = self._app.clock.monotonic()
        if self._probed_at is None or now >= self._probed_at + PROBE_MAX_AGE_SECONDS:
            self._probed_at = now
            try:
                async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
                    async with self._app.database.connection() as connection:
                        await health.has_room(connection)
            except ConnectionLostError:  # it says nothing about writes
                self._probed_at = None
                return self._why_no_answer()
            except AWAY as error:
                self._probed = f"{NO_WRITES}: {brief_of(error.__cause__ or error)}"
            else:
                self._probed = WELL
        return self._probed

    def _why_no_answer(self) -> str:
        trouble = self._app.database.connector.trouble
        if trouble is None:
            return UNKNOWN
        brief = brief_of(trouble)
        return brief if isinstance(trouble, RefusedError) else f"{UNKNOWN}: {brief}"


def _status(word: str) -> int:
    return HTTPStatus.OK if word == WELL else HTTPStatus.SERVICE_UNAVAILABLE
