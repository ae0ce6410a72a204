"""Sections of register's response, and the snapshot they are read from."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

from server.domain.access import GroupGraph
from server.domain.actor import Actor
from server.domain.addresses import RealmAddress
from server.domain.realm_settings import RealmSettings
from server.events.base import ClientView
from server.realm_cache import RealmCache
from server.settings import Settings
from storage.database import Connection
from storage.ids import Position, RealmId
from storage.realms import RealmRow

Found = TypeVar("Found")

_BEING_READ: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A snapshot of a realm, and the user it is read for.

    Everything that a section reads, it reads on `connection`, whose transaction sees the realm
    exactly at `position`. A cached value is used only if it is known to be the same there.
    """

    connection: Connection
    realm_id: RealmId
    position: Position
    actor: Actor
    realm: RealmRow
    settings: RealmSettings
    graph: GroupGraph
    address: RealmAddress
    realm_cache: RealmCache
    """For values that are exact at any position; not for rows."""
    server: Settings
    web_push_public_key: str
    view: ClientView
    fetch_types: frozenset[str] | None
    """None: all."""
    include_subscribers: Literal["true", "false", "partial"] = "false"
    presence_history_limit_days: int | None = None
    shared: dict[str, Any] = field(default_factory=dict)
    """Results of sections that are not sent to the client."""
    results: dict[str, Any] = field(default_factory=dict)

    def fetches(self, fetch_type: str) -> bool:
        return self.fetch_types is None or fetch_type in self.fetch_types

    async def once(self, name: str, read: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
        """Return the result of `read`, which runs once for all sections: they run concurrently."""
        if name not in self.results:
            self.results[name] = _BEING_READ
            self.results[name] = await read()
        while self.results[name] is _BEING_READ:
            await self.connection.others_turn()
        found: Found = self.results[name]
        return found


@dataclass(frozen=True, slots=True)
class StateSection:
    """The fields of one fetch type.

    `fetch` returns them by name; a value may be msgspec.Raw if it is JSON already.
    """

    fetch_type: str
    fetch: Callable[[Snapshot], Coroutine[Any, Any, Mapping[str, Any]]]
    fields: tuple[type, ...]
    """Types with the fields that `fetch` returns if the client asks for everything.

    Fields that may be unset, or are not required, may be left out. A field of two types is as one
    of them says. In a union with msgspec.Raw, the rest is what the JSON holds.
    """
    fetch_many: (
        Callable[[Sequence[Snapshot]], Coroutine[Any, Any, Sequence[Mapping[str, Any]]]] | None
    ) = None
    """The same for several users at once. None: they do not share a snapshot."""

    async def fetch_each(self, snapshots: Sequence[Snapshot]) -> Sequence[Mapping[str, Any]]:
        """Return the fields for each of these users of one snapshot."""
        if len(snapshots) == 1:
            return [await self.fetch(snapshots[0])]
        assert self.fetch_many is not None, "it is read for one user at a time"
        return await self.fetch_many(snapshots)
