"""Write queue of a realm: every write of a realm passes through it, in shared commits.

While a commit of a realm is in progress, later writes of that realm wait. They are then prepared
one after another on one connection and end in one round trip: lock the clock, run the statements
that need positions, advance the clock, COMMIT. docs/adr/0004-the-writer.md.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from server.realm_cache import RealmCaches
from server.transactions import PortableWrite
from server.writer.forwarding import ForwardedOutcome, WriteForwarder
from server.writer.realm_writer import Committed, RealmWriter
from server.writer.tx import WriteTx
from storage.database import Database
from storage.ids import RealmId

__all__ = ["RealmWriter", "WriteTx", "Writers"]


class Writers:
    """The writers of all realms in this process."""

    def __init__(
        self,
        database: Database,
        realm_caches: RealmCaches,
        committed: Committed,
        forwarder: WriteForwarder | None = None,
    ) -> None:
        """`forwarder` connects them with those of sibling processes, if there are any."""
        self._database = database
        self._realm_caches = realm_caches
        self._committed = committed
        self._forwarder = forwarder
        self._writers: dict[RealmId, RealmWriter] = {}
        if forwarder is not None:
            forwarder.serve(self._commit)

    def of(self, realm_id: RealmId) -> RealmWriter:
        writer = self._writers.get(realm_id)
        if writer is None:
            writer = RealmWriter(
                self._database,
                self._realm_caches.of(realm_id),
                self._committed,
                self._forwarder,
            )
            self._writers[realm_id] = writer
        return writer

    async def drain(self) -> None:
        """Wait until every submitted write has its result."""
        await asyncio.gather(*(w.drain() for w in list(self._writers.values())))
        if self._forwarder is not None:
            await self._forwarder.drain()

    def totals(self) -> tuple[int, int]:
        """(writes, commits) since the process started."""
        writers = self._writers.values()
        return sum(w.writes for w in writers), sum(w.commits for w in writers)

    def forwarded(self) -> int:
        """Writes of this process that siblings have committed."""
        return 0 if self._forwarder is None else self._forwarder.forwarded

    async def _commit(
        self, realm_id: RealmId, writes: Sequence[PortableWrite[Any]]
    ) -> ForwardedOutcome:
        return await self.of(realm_id).commit(writes)
