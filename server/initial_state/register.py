"""Register an event queue: state and position from one snapshot, so that they agree."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from server.domain.actor import Actor
from server.domain.errors import UserDeactivatedError
from server.domain.realm_settings import RealmSettings
from server.events.queue_params import QueueParams
from server.i18n import _
from server.initial_state.base import Snapshot
from server.initial_state.messages import FOLDABLE
from server.initial_state.registry import SECTIONS
from server.realm_cache import RealmCache
from server.runtime.version import announced
from server.settings import Settings
from storage import clock, event_queues, realms, users
from storage.database import Connection, Database
from storage.ids import Position, QueueId
from storage.read_state import Fold

DEFAULT_LIFESPAN_SECONDS: Final = 24 * 3600
MIN_LIFESPAN_SECONDS: Final = 600
MAX_LIFESPAN_SECONDS: Final = 7 * 24 * 3600
FRESH_LAST_EVENT_ID: Final = -1


MAX_QUEUES: Final = 200
"""Maximum per account: the least recently polled queues are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The parameters of a register request."""

    queue: QueueParams
    fetch_types: frozenset[str] | None
    include_subscribers: Literal["true", "false", "partial"]
    lifespan_seconds: int
    presence_history_limit_days: int | None = None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What register says about the server itself."""

    settings: Settings
    web_push_public_key: str


@dataclass(frozen=True, slots=True)
class Registered:
    queue_id: QueueId | None
    """None for spectators: they get the state and no events."""
    fields: Mapping[str, Any]
    """The queue and all state."""
    folds: Sequence[Fold]
    """Read-state folds to be written, which make the actor's next register cheaper."""
    ended: Sequence[QueueId] = ()
    """Queues of the actor that were deleted because there were too many."""


def lifespan(seconds: int | None) -> int:
    """Return the queue's lifespan without a poll, from the client's request."""
    if not seconds or seconds < 0:
        return DEFAULT_LIFESPAN_SECONDS
    return max(MIN_LIFESPAN_SECONDS, min(seconds, MAX_LIFESPAN_SECONDS))


async def register(
    database: Database,
    realm_cache: RealmCache,
    server: ServerFacts,
    actor: Actor,
    registration: Registration,
) -> Registered:
    """Create a queue; return it with all requested state.

    The queue's events are exactly those after the state.
    """
    queue_id, ended = None, list[QueueId]()
    if not actor.is_spectator:
        queue_id, ended = await _announced(database, actor, registration)
    try:
        async with database.snapshot() as connection:
            snapshot, epoch = await _snapshot(connection, realm_cache, server, actor, registration)
            fields: dict[str, Any] = {}
            wanted = [each for each in SECTIONS if snapshot.fetches(each.fetch_type)]
            for found in await connection.together(*[each.fetch(snapshot) for each in wanted]):
                fields |= found
        if queue_id is not None:
            # If the queue was deleted meanwhile, by a change of role, the first poll reports it.
            async with database.connection() as connection:
                await event_queues.begin(
                    connection,
                    actor.realm_id,
                    queue_id,
                    epoch=epoch,
                    base=snapshot.position,
                    params=_rights(snapshot),
                )
    except BaseException:
        if queue_id is not None:
            async with database.connection() as connection:
                await event_queues.delete(connection, actor.realm_id, queue_id)
        raise
    fields |= announced()
    fields |= {
        "queue_id": queue_id,
        "last_event_id": FRESH_LAST_EVENT_ID,
        "position": snapshot.position,
        "idle_queue_timeout_secs": registration.lifespan_seconds,
    }
    return Registered(queue_id, fields, snapshot.shared.get(FOLDABLE, ()), ended)


def _rights(snapshot: Snapshot) -> dict[str, bool]:
    """Return what the queue's user may know, if that differs among users of the role."""
    if not snapshot.actor.is_guest:
        return {}
    # The name under which it is stored: see `QueueParams` (server/events/queue_params.py).
    return {"knows_everybody": snapshot.settings.guests_know_all_users(snapshot.graph)}


async def _announced(
    database: Database, actor: Actor, registration: Registration
) -> tuple[QueueId, list[QueueId]]:
    """Insert the queue; return its id and those of deleted queues.

    It begins later. Later writes see the queue: events contain the flags of users with queues, and
    so of this one from its first event on.
    """
    queue_id = QueueId(secrets.token_hex(16))
    async with database.connection() as connection:
        ended = await event_queues.insert(
            connection,
            actor.realm_id,
            queue_id,
            user_id=actor.user_id,
            params=msgspec.to_builtins(registration.queue),
            lifespan_seconds=registration.lifespan_seconds,
            most=MAX_QUEUES,
        )
    return queue_id, ended


async def _snapshot(
    connection: Connection,
    realm_cache: RealmCache,
    server: ServerFacts,
    actor: Actor,
    registration: Registration,
) -> tuple[Snapshot, int]:
    """Return the snapshot from which everything is read, and its epoch."""
    row, realm, user = await connection.together(
        clock.read(connection, actor.realm_id),
        realms.by_id(connection, actor.realm_id),
        users.by_id(connection, actor.realm_id, actor.user_id),
    )
    if actor.is_spectator:
        user = actor.row
    assert row is not None, "every realm has a clock"
    assert realm is not None, "a realm is never removed"
    assert user is not None, "a user is never removed"
    if not user.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    snapshot = Snapshot(
        connection=connection,
        realm_id=actor.realm_id,
        position=Position(row.position),
        actor=replace(actor, row=user),
        realm=realm,
        settings=RealmSettings.of(realm.settings),
        graph=await realm_cache.groups_of(connection, realm),
        address=realm_cache.address_of(realm),
        realm_cache=realm_cache,
        server=server.settings,
        web_push_public_key=server.web_push_public_key,
        view=registration.queue.view,
        fetch_types=registration.fetch_types,
        include_subscribers=registration.include_subscribers,
        presence_history_limit_days=registration.presence_history_limit_days,
    )
    return snapshot, row.epoch
