"""Services of the process for work that takes several transactions."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from server.domain.clock import Clock
from server.realm_cache import RealmCache
from storage.database import Connection
from storage.ids import RealmId

Reading = Callable[[], AbstractAsyncContextManager[Connection]]
"""Callback that opens a connection for reads past the cache."""


class WriteFunction(Protocol):
    """The realm's writer, or its replacement."""

    def __call__(self, action: Callable[[Any], Awaitable[Any]], /) -> Awaitable[Any]: ...


@dataclass(frozen=True, slots=True)
class RealmServices:
    """One realm's cache and writer, for any number of reads and writes."""

    realm_id: RealmId
    realm_cache: RealmCache
    read: Reading
    write: WriteFunction
    clock: Clock
