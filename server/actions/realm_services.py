"""What work that outlives one transaction needs of the process it runs in."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from server.domain.clock import Clock
from server.realm_cache import RealmCache
from storage.database import Connection
from storage.ids import RealmId

Reading = Callable[[], AbstractAsyncContextManager[Connection]]
"""Gives a connection for reading what no cache holds."""


class Write(Protocol):
    """The realm's writer, or what stands for it."""

    def __call__(self, action: Callable[[Any], Awaitable[Any]], /) -> Awaitable[Any]: ...


@dataclass(frozen=True, slots=True)
class RealmServices:
    """One realm, to look things up in and to write to, any number of times."""

    realm_id: RealmId
    realm_cache: RealmCache
    read: Reading
    write: Write
    clock: Clock
