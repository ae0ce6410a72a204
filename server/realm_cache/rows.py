"""Rows by key, from the cache or from the database."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from server.realm_cache.keys import GRAPH, GROUPS, NAMES, REALM, Touch
from storage.database import Connection, ConnectionLostError, Database

CAPACITY: Final = 20_000
"""Maximum cached rows per realm; the least recently used are evicted."""


class CachedRows:
    """Rows by key, until they are evicted or invalidated.

    With `exact` nothing comes from the cache: everything is read on that connection.
    """

    def __init__(self, database: Database, *, exact: Connection | None = None) -> None:
        self._database = database
        self._exact = exact
        self._rows: OrderedDict[Touch, Any] = OrderedDict()
        self._by_name: dict[str, dict[Any, Any]] = {}
        self._forgotten = 0
        """Number of invalidations: a read that overlaps one may be stale."""

    def forget(self, touched: Iterable[Touch]) -> None:
        """Invalidate changed rows, and reads in progress, which may be older than the change."""
        for key in touched:
            self._forgotten += 1
            self._rows.pop(key, None)
            if key[0] in NAMES:
                self._by_name.pop(NAMES[key[0]], None)
            if key in (REALM, GROUPS):
                self._rows.pop(GRAPH, None)

    def recall(self, key: Touch) -> Any:
        """The value that `remember` stored for the key, if it is still cached.

        It may be of any position: the caller checks that it is recent enough.
        """
        if key in self._rows:
            self._rows.move_to_end(key)
        return self._rows.get(key)

    def remember(self, key: Touch, value: Any) -> None:
        """Cache a value derived from rows, until it is evicted or invalidated."""
        self._keep(key, value)

    async def derived(self, key: Touch, load: Callable[[Connection], Awaitable[Any]]) -> Any:
        """The cached value of `load`; load it again after an invalidation."""
        return await self._get(key, load)

    def forget_everything(self) -> None:
        self._forgotten += 1
        self._rows.clear()
        self._by_name.clear()

    async def _get(self, key: Touch, load: Callable[[Connection], Awaitable[Any]]) -> Any:
        """The cached or loaded row; absent rows are not cached."""
        if key in self._rows:
            self._rows.move_to_end(key)
            return self._rows[key]
        forgotten = self._forgotten
        row = await self._read(load)
        # A read that overlaps an invalidation may be stale: not cached.
        if row is not None and forgotten == self._forgotten:
            self._keep(key, row)
        return row

    async def _read(self, load: Callable[[Connection], Awaitable[Any]]) -> Any:
        if self._exact is not None:
            return await load(self._exact)
        try:
            return await self._read_once(load)
        except ConnectionLostError:
            if self._database.is_held:
                raise  # with all else that its transaction has done
            return await self._read_once(load)

    async def _read_once(self, load: Callable[[Connection], Awaitable[Any]]) -> Any:
        async with self._database.reading() as connection:
            found = await load(connection)
            if not connection.sees_only_what_is_committed:
                # It may be older than what has been applied here, or never be committed: good
                # for its own transaction, and not kept for others.
                self._forgotten += 1
                self._by_name = {}
            return found

    def _keep(self, key: Touch, row: Any) -> None:
        self._rows[key] = row
        while len(self._rows) > CAPACITY:
            self._rows.popitem(last=False)
