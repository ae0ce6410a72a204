"""Factories of rows, and a stage on which actions run as they do in a server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest_asyncio

from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.events import catalogue
from server.events.base import Audience, ClientView, Event, LogEntry, decode_audience
from server.realm_cache import RealmCaches
from server.writer import Writers
from storage.database import Connection, Database
from storage.ids import Position, RealmId
from testkit.clock import StoppedClock
from testkit.factories import Make, new_realm

NEWEST_CLIENT = ClientView(
    archived_channels=True,
    bulk_message_deletion=True,
    empty_topic_name=True,
    include_deactivated_groups=True,
    linkifier_url_template=True,
    notification_settings_null=True,
    pins=True,
    reaction_notifications=True,
    simplified_presence_events=True,
    slim_presence=True,
    stream_typing_notifications=True,
    topic_descriptions=True,
    user_avatar_url_field_optional=True,
    user_list_incomplete=True,
    user_settings_object=True,
)


@pytest_asyncio.fixture
async def make_here(connection: Connection) -> Make:
    """Makes rows that are rolled back: for storage functions on the same connection."""
    return await new_realm(connection)


@pytest_asyncio.fixture
async def make(database: Database) -> AsyncIterator[Make]:
    """Makes rows that all connections see, until the test ends."""
    async with database.connection() as connection:
        yield await new_realm(connection)


@dataclass(frozen=True, slots=True)
class Happened:
    """One entry that a write has appended."""

    position: Position
    event: Event
    audience: Audience

    def wire(self, view: ClientView = NEWEST_CLIENT) -> list[Any]:
        """The events for a client with this view, without ids and flags."""
        return list(self.event.wire(self.position, view)) if self.event.wire_type else []


class Stage:
    """Runs actions through the realm's writer, and keeps what they append."""

    def __init__(self, database: Database, clock: StoppedClock) -> None:
        self.database = database
        self.clock = clock
        self.realm_caches = RealmCaches(database, clock)
        self.writers = Writers(database, self.realm_caches, self._committed)
        self.happened: list[Happened] = []

    async def run(
        self, action: Callable[..., Awaitable[Any]], actor: Actor, *args: Any, **kwargs: Any
    ) -> Any:
        """The action's answer, after the commit; `happened` holds what it appended alone."""
        self.happened.clear()
        return await self.write(action, actor, *args, **kwargs)

    async def write(
        self, action: Callable[..., Awaitable[Any]], actor: Actor, *args: Any, **kwargs: Any
    ) -> Any:
        """The same; `happened` holds what was appended before, too."""
        writer = self.writers.of(actor.realm_id)
        return await writer.write(lambda tx: action(tx, actor, *args, **kwargs))

    def realm_services(self, realm_id: RealmId) -> RealmServices:
        return RealmServices(
            realm_id,
            self.realm_caches.of(realm_id),
            self.database.connection,
            self.writers.of(realm_id).write,
            self.clock,
        )

    def kinds(self) -> list[str]:
        """The kinds of what was appended, in order."""
        return [each.event.kind for each in self.happened]

    def _committed(self, realm_id: RealmId, epoch: int, entries: list[LogEntry]) -> None:
        del epoch
        for entry in entries:
            event = catalogue.decode(entry.kind, entry.body or b"{}")
            self.realm_caches.of(realm_id).forget(event.touches())
            self.happened.append(Happened(entry.position, event, decode_audience(entry.audience)))


@pytest_asyncio.fixture
async def stage(database: Database) -> AsyncIterator[Stage]:
    """Runs actions, on the module's database."""
    stage = Stage(database, StoppedClock())
    yield stage
    await stage.writers.drain()
