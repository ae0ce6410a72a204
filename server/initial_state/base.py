"""What a section of register's answer is, and what it is given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from server.directory import Directory
from server.domain.access import GroupGraph
from server.domain.actor import Actor
from server.domain.addresses import RealmAddress
from server.domain.realm_settings import RealmSettings
from server.events.base import ClientView
from server.settings import Settings
from storage.database import Connection
from storage.ids import Position, RealmId
from storage.realms import RealmRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One moment of a realm, and who looks at it.

    Everything that a section reads, it reads on `connection`, whose transaction sees the realm
    exactly at `position`. A value from a cache counts only if it is known to be the same there.
    """

    connection: Connection
    realm_id: RealmId
    position: Position
    actor: Actor
    realm: RealmRow
    settings: RealmSettings
    graph: GroupGraph
    address: RealmAddress
    directory: Directory
    """For values that are exact whatever the position; not for rows."""
    server: Settings
    view: ClientView
    fetch_types: frozenset[str] | None
    """None: all."""
    include_subscribers: Literal["true", "false", "partial"] = "false"
    presence_history_limit_days: int | None = None
    shared: dict[str, Any] = field(default_factory=dict)
    """What one section has read and another may use."""

    def fetches(self, fetch_type: str) -> bool:
        return self.fetch_types is None or fetch_type in self.fetch_types


@dataclass(frozen=True, slots=True)
class Section:
    """The fields of one fetch type.

    `fetch` gives them by name; a value may be msgspec.Raw where it is JSON already.
    """

    fetch_type: str
    fetch: Callable[[Snapshot], Awaitable[Mapping[str, Any]]]
