"""Send scheduled messages and reminders at the second they are due."""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, TypeVar

import structlog

from queue_processors.processor import MAX_ATTEMPTS, pause_after
from queue_processors.retry_state import RetryState
from queue_processors.timer_kind import DueItemKind, Row
from server.actions.realm_services import RealmServices
from server.telemetry.metrics import Metrics
from server.transactions import KeepsChangingError
from storage import timers
from storage.database import (
    Connection,
    Database,
    DatabaseUnavailableError,
    StatementTimeoutError,
)
from storage.ids import RealmId

logger = structlog.get_logger(__name__)

POLL_INTERVAL_SECONDS: Final = 1.0
"""The interval between polls. Items due within it are sent on time, others this late at most."""
MAX_BATCH: Final = 100
"""The maximum batch of one realm and kind between two polls."""
MAX_CONCURRENT_DELIVERIES: Final = 16
"""The maximum concurrency within a batch, so that its first items need not wait for the others."""
MAX_CONCURRENT_REALMS: Final = 20
"""The maximum number of realms of each kind at a time; those with the oldest items come first."""


Item = TypeVar("Item")


class DueItemRunner:
    """Poll for due items and deliver them. Any number of runners may run concurrently.

    Each row is locked while it is delivered, and other runners skip locked rows, so there is no
    leader whose failure would block delivery. The clock is the database's unless `now` is given.
    """

    def __init__(
        self,
        database: Database,
        realm_services: Callable[[RealmId], RealmServices],
        metrics: Metrics,
        kinds: Sequence[DueItemKind[Any]],
        *,
        now: Callable[[], datetime] | None = None,
        pause_after: Callable[[int], float] = pause_after,
    ) -> None:
        self._database = database
        self._services_of = realm_services
        self._metrics = metrics
        self._kinds = kinds
        self._now = now
        self._busy: set[tuple[str, RealmId]] = set()
        self._retries = {kind.name: RetryState(kind, pause_after) for kind in kinds}
        self._has_more = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled. A delivery that is being committed is finished."""
        async with asyncio.TaskGroup() as group:
            while True:
                pause = POLL_INTERVAL_SECONDS
                self._has_more.clear()
                try:
                    _, pause = await self._look(group)
                except (DatabaseUnavailableError, StatementTimeoutError) as error:
                    logger.warning("due_items.poll_deferred", error=str(error))
                except Exception:
                    logger.exception("due_items.poll_failed")
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._has_more.wait()

    async def catch_up(self) -> int:
        """Deliver all items that are due now; return how many were sent or failed."""
        total = 0
        while True:
            async with asyncio.TaskGroup() as group:
                tasks, _ = await self._look(group)
            done = sum(task.result() for task in tasks)
            if not done:
                return total
            total += done

    async def _look(self, group: asyncio.TaskGroup) -> tuple[list[asyncio.Task[int]], float]:
        """Start tasks for the due items; return the tasks, and the seconds until the next poll."""
        tasks = []
        async with self._database.connection() as connection:
            now = await timers.now(connection) if self._now is None else self._now()
            for kind in self._kinds:
                for realm_id, rows in (await self._due(connection, kind, now)).items():
                    self._busy.add((kind.name, realm_id))
                    tasks.append(group.create_task(self._work_off(kind, realm_id, rows)))
            next_at = await timers.next_at(connection, after=now)
        if next_at is None:
            return tasks, POLL_INTERVAL_SECONDS
        return tasks, min(POLL_INTERVAL_SECONDS, (next_at - now).total_seconds())

    async def _due(
        self, connection: Connection, kind: DueItemKind[Row], now: datetime
    ) -> dict[RealmId, list[Row]]:
        """Return due items by realm, up to the maximum concurrency, without realms in progress."""
        busy = [realm_id for name, realm_id in self._busy if name == kind.name]
        free = MAX_CONCURRENT_REALMS - len(busy)
        if free <= 0:
            return {}
        retries = self._retries[kind.name]
        await retries.look_after(connection)
        window = timers.DueWindow(
            now=now,
            without=retries.left_alone(),
            busy=busy,
            realms=free,
            limit=MAX_BATCH,
        )
        by_realm: dict[RealmId, list[Row]] = {}
        for row in await kind.due(connection, window):
            by_realm.setdefault(row.realm_id, []).append(row)
        return by_realm

    async def _work_off(
        self, kind: DueItemKind[Row], realm_id: RealmId, rows: Sequence[Row]
    ) -> int:
        """Deliver the items; return how many this call has delivered."""
        slots = asyncio.Semaphore(MAX_CONCURRENT_DELIVERIES)

        async def deliver(services: RealmServices, row: Row) -> bool:
            async with slots:
                return await self._deliver(kind, services, row)

        done = 0
        try:
            services = self._services_of(realm_id)
            for together in in_turns(rows, kind.place_of):
                done += sum(await asyncio.gather(*(deliver(services, row) for row in together)))
        except Exception:
            logger.exception("due_items.realm_failed", kind=kind.name, realm_id=realm_id)
        finally:
            self._busy.discard((kind.name, realm_id))
        if done:
            self._has_more.set()
        return done

    async def _deliver(self, kind: DueItemKind[Row], services: RealmServices, row: Row) -> bool:
        retries = self._retries[kind.name]
        if retries.waits(row):
            return False
        log = logger.bind(kind=kind.name, realm_id=row.realm_id, timer_id=kind.id_of(row))
        try:
            is_ours = await kind.deliver(services, row)
        except (KeepsChangingError, StatementTimeoutError) as error:
            log.warning("due_items.deferred", error=str(error))
            retries.count(row, holds_up=True)
        except DatabaseUnavailableError as error:
            log.warning("due_items.deferred", error=str(error))
            retries.postpone(row)
            return False
        except Exception:
            log.exception("due_items.failed")
            retries.count(row, holds_up=False)
        else:
            retries.forget(row)
            if is_ours:
                late = (services.clock.now() - row.due_at).total_seconds()
                self._metrics.timer_done(kind.name, max(0.0, late))
            return is_ours
        if retries.attempts(row) >= MAX_ATTEMPTS:
            await self._give_up(kind, services, row)
        return False

    async def _give_up(self, kind: DueItemKind[Row], services: RealmServices, row: Row) -> None:
        try:
            await kind.give_up(services, row)
        except Exception:
            logger.exception("due_items.give_up_failed", kind=kind.name, timer_id=kind.id_of(row))
        else:
            self._retries[kind.name].forget(row)


def in_turns(rows: Sequence[Item], place_of: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Split the rows into batches to be sent in order; no batch has two rows with one destination.

    So messages to the same destination keep their order.
    """
    turns: list[list[Item]] = []
    seen: Counter[Hashable] = Counter()
    for row in rows:
        place = place_of(row)
        if seen[place] == len(turns):
            turns.append([])
        turns[seen[place]].append(row)
        seen[place] += 1
    return turns
