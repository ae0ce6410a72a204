"""Load of the installation between two looks, for `parley top`."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from server.telemetry.overview import Overview
from storage import load
from storage.database import Database
from storage.load import MeasuredStatement, RealmProgress, RunningStatement

STATEMENTS: Final = 10


class RealmLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Activity of an organization."""

    name: str
    events_per_second: float
    event_queues: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What the database executes, and what happened since the look before."""

    running: Sequence[RunningStatement]
    slowest: Sequence[MeasuredStatement] | None
    """None where Postgres does not measure statements."""
    realms: Sequence[RealmLoad]
    """Those with events or event queues, busiest first."""
    attempts_per_second: Mapping[str, float]
    """Of jobs, by queue."""


@dataclass(slots=True)
class LoadMeter:
    """Takes samples, and tells the load between them. The first one has no rates: they are 0."""

    database: Database
    _taken_at: float = field(default=0.0, init=False)
    _positions: dict[int, int] = field(default_factory=dict, init=False)
    _attempts: dict[str, int] = field(default_factory=dict, init=False)

    async def sample(self, found: Overview) -> Load:
        """Return the load since the last sample. Raises DatabaseUnavailableError."""
        async with self.database.connection() as connection:
            running = await load.running_statements(connection, limit=STATEMENTS)
            slowest = await load.slowest_statements(connection, limit=STATEMENTS)
            realms = await load.progress_of_realms(connection)
        now = time.monotonic()
        seconds, self._taken_at = now - self._taken_at, now
        attempts = {queue.queue: queue.attempts for queue in found.queues}
        rates = {
            # Attempts are those of the workers that are alive: one that ends takes its own along.
            queue: max(count - self._attempts.get(queue, count), 0) / seconds
            for queue, count in attempts.items()
        }
        active = [self._realm(realm, seconds) for realm in realms]
        self._positions = {realm.realm_id: realm.position for realm in realms}
        self._attempts = attempts
        return Load(
            running=running,
            slowest=slowest,
            realms=sorted(
                (each for each in active if each.events_per_second or each.event_queues),
                key=lambda each: (-each.events_per_second, -each.event_queues, each.name),
            ),
            attempts_per_second=rates,
        )

    def _realm(self, realm: RealmProgress, seconds: float) -> RealmLoad:
        before = self._positions.get(realm.realm_id, realm.position)
        return RealmLoad(
            name=realm.name,
            events_per_second=max(realm.position - before, 0) / seconds,
            event_queues=realm.event_queues,
        )
