"""Presence service: receive, answer and write pings, for each realm of this process."""

import asyncio

from server.domain.clock import Clock
from server.presences.realm import RealmPresences
from server.realm_cache import RealmCaches
from server.realtime.queues import Realtime
from storage.database import Database
from storage.ids import RealmId

__all__ = ["PresenceService", "RealmPresences"]


class PresenceService:
    """The presence of the realms with pings to this process."""

    def __init__(
        self, database: Database, realm_caches: RealmCaches, realtime: Realtime, clock: Clock
    ) -> None:
        self._database = database
        self._realm_caches = realm_caches
        self._realtime = realtime
        self._clock = clock
        self._realms: dict[RealmId, RealmPresences] = {}

    def of(self, realm_id: RealmId) -> RealmPresences:
        found = self._realms.get(realm_id)
        if found is None:
            realm_cache = self._realm_caches.of(realm_id)
            found = RealmPresences(self._database, realm_cache, self._realtime, self._clock)
            self._realms[realm_id] = found
        return found

    async def close(self) -> None:
        """Write pending pings; later ones are lost."""
        await asyncio.gather(*(realm.close() for realm in self._realms.values()))
