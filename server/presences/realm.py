"""Pings: received in memory, answered from memory, and written in batches once a second."""

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from server.domain.clock import Clock
from server.domain.presence import NOTHING_YET, PRESENCE_OF, Presence, status_of
from server.domain.profiles import public_email
from server.initial_state.presence_index import PresenceEntry, PresenceIndex
from server.presences.arrivals import news_of
from server.realm_cache import ROLL, RealmCache, user_key
from server.realtime.queues import Realtime
from storage import presences
from storage.database import (
    Connection,
    Database,
    DatabaseUnavailableError,
    StatementTimeoutError,
)
from storage.ids import UserId
from storage.presences import Ping
from storage.users import UserRow

logger = structlog.get_logger(__name__)

NEVER: Final = 0
"""A Unix time for users who have never been seen."""
TURN_SECONDS: Final = 1.0
"""Minimum interval of writes per realm, and maximum age of a response."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A user's pings that are not written yet."""

    user: UserRow
    ping: Ping
    entry: PresenceEntry
    """Their presence with it. It has no number yet."""


class RealmPresences:
    """The presence of one realm, as this process knows it.

    What is written carries a number (storage/presences.py); responses have the highest number that
    has been read, so nothing that is committed later, here or elsewhere, is ever missed. Pending
    pings are returned without a number, and again when they have one. After a crash, pings of the
    last second are lost, and come again with the next ones.
    """

    def __init__(
        self, database: Database, realm_cache: RealmCache, realtime: Realtime, clock: Clock
    ) -> None:
        self._database = database
        self._realm_cache = realm_cache
        self._realtime = realtime
        self._clock = clock
        self._pending: dict[UserId, _Pending] = {}
        self._loading = asyncio.Lock()
        self._turn: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._turned_at = -math.inf
        self.writes = 0
        """Number of batches written."""

    async def ping(self, user: UserRow, *, active: bool) -> None:
        """Record a ping of the user's client.

        After it returns, responses of this process include it.

        Raises DatabaseUnavailableError.
        """
        moment = self._clock.now()
        known = await self._known(user)
        if known.knows(int(moment.timestamp()), active=active):
            return
        self._add(user, known, moment, active=active)
        if self._is_due:
            await self._take_turn()
        else:
            self._turn_later()

    async def entries(
        self, *, since: int | None, seen_since: float
    ) -> tuple[list[PresenceEntry], int]:
        """Return users updated after `since`, or seen since; and the newest update.

        Those of other processes may be a second old. Raises DatabaseUnavailableError.
        """
        if self._is_due:
            await self._take_turn()
        roll = await self._roll()
        waiting = self._waiting()
        if since is None:
            return roll.seen_since(seen_since, waiting), roll.last_update_id
        found = [e for e in roll.since(since) if e.user_id not in waiting]
        return [*found, *waiting.values()], roll.last_update_id

    async def of(self, user_id: UserId) -> Presence | None:
        """Return a user's presence; None if they have never been seen. Otherwise as `entries`."""
        if self._is_due:
            await self._take_turn()
        roll = await self._roll()
        waiting = self._waiting().get(user_id)
        return roll.of(user_id) if waiting is None else waiting.presence

    async def load(self) -> None:
        """Load all presences into memory, for readers of the index (register)."""
        await self._roll()

    async def settle(self) -> None:
        """Write pending pings, and read those of other processes."""
        if self._turn is not None:
            await asyncio.wait([self._turn])
        await self._take_turn()

    async def close(self) -> None:
        """Write pending pings, and stop."""
        if self._pending or self._turn is not None:
            with suppress(DatabaseUnavailableError, StatementTimeoutError):
                await self.settle()
        if self._timer is not None:
            self._timer.cancel()

    # -- reading

    async def _known(self, user: UserRow) -> Presence:
        """Return a user's presence with pending pings."""
        pending = self._pending.get(user.user_id)
        if pending is not None:
            return pending.entry.presence
        roll = await self._roll()
        known = roll.of(user.user_id)
        if known is None:
            joined = int(user.date_joined.timestamp())
            known = Presence(user.user_id, public_email(user, roll.domain), joined, NEVER)
        return known

    def _add(self, user: UserRow, known: Presence, now: datetime, *, active: bool) -> None:
        before = self._pending.get(user.user_id)
        active_at = now if active else None if before is None else before.ping.active_at
        presence = known.with_ping(int(now.timestamp()), active=active)
        self._pending[user.user_id] = _Pending(
            user, Ping(user.user_id, active_at, now), PresenceEntry(presence, NOTHING_YET)
        )

    def _waiting(self) -> dict[UserId, PresenceEntry]:
        """Return pending presences without a newer change."""
        recall = self._realm_cache.recall
        return {
            user_id: pending.entry
            for user_id, pending in self._pending.items()
            if recall(user_key(user_id)) is pending.user
        }

    async def _roll(self) -> PresenceIndex:
        roll = self._realm_cache.recall(ROLL)
        if roll is None:
            domain = (await self._realm_cache.address()).domain
            # One at a time: an older one must not replace a newer one.
            async with self._loading:
                roll = await self._realm_cache.derived(ROLL, lambda c: self._load(c, domain))
        assert isinstance(roll, PresenceIndex)
        return roll

    async def _load(self, connection: Connection, domain: str) -> PresenceIndex:
        rows = await presences.changed_since(connection, self._realm_cache.realm_id, -1)
        return PresenceIndex(domain, rows)

    # -- turns

    @property
    def _is_due(self) -> bool:
        return self._clock.monotonic() - self._turned_at >= TURN_SECONDS

    def _turn_later(self) -> None:
        if self._timer is None and self._turn is None:
            left = TURN_SECONDS - (self._clock.monotonic() - self._turned_at)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0.0, left), self._begin_due_turn)

    def _begin_due_turn(self) -> None:
        self._timer = None
        if self._is_due:
            self._turn = self._begin_turn()
        else:
            self._turn_later()

    async def _take_turn(self) -> None:
        await asyncio.shield(self._begin_turn())

    def _begin_turn(self) -> asyncio.Task[None]:
        """Return the running turn, or start one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._turn is None:
            self._turned_at = self._clock.monotonic()
            self._turn = asyncio.ensure_future(self._write_and_read())
            self._turn.add_done_callback(self._turn_ended)
        return self._turn

    def _turn_ended(self, turn: asyncio.Task[None]) -> None:
        self._turn = None
        failure = None if turn.cancelled() else turn.exception()
        if isinstance(failure, DatabaseUnavailableError | StatementTimeoutError):
            logger.warning("presence.write_deferred", error=str(failure))
        elif failure is not None:
            logger.error("presence.write_failed", exc_info=failure)
        if self._pending:
            self._turn_later()

    async def _write_and_read(self) -> None:
        written = list(self._pending.values())
        realm_id = self._realm_cache.realm_id
        before: list[tuple[UserId, datetime | None, datetime | None]] = []
        if written:
            statement = presences.record(realm_id, [each.ping for each in written])
            async with self._database.connection() as connection:
                before = [(u, a, s) for u, a, s in await connection.run(statement)]
            self.writes += 1
        roll = await self._roll()
        async with self._database.connection() as connection:
            roll.take(await presences.changed_since(connection, realm_id, roll.last_update_id))
        for each in written:
            if self._pending.get(each.user.user_id) is each:
                del self._pending[each.user.user_id]
        await self._publish(roll, before)

    async def _publish(
        self, roll: PresenceIndex, before: Sequence[tuple[UserId, datetime | None, datetime | None]]
    ) -> None:
        """Publish users who have become more active."""
        now = self._clock.now().timestamp()
        come = []
        for user_id, active_at, seen_at in before:
            presence = roll.of(user_id)
            if presence is not None:
                was = status_of(_timestamp(active_at), _timestamp(seen_at), now)
                if PRESENCE_OF[presence.status(now)] > PRESENCE_OF[was]:
                    come.append(presence)
        for event, audience in await news_of(self._database, self._realm_cache, come, now=now):
            await self._realtime.publish_ephemeral(self._realm_cache.realm_id, event, audience)


def _timestamp(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()
