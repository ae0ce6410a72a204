"""Register event queues: state and position from one snapshot, so that they agree."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

import msgspec

from server.domain.actor import Actor
from server.domain.errors import DomainError, ServerNotReadyError, UserDeactivatedError
from server.domain.realm_settings import RealmSettings
from server.events.queue_params import QueueParams
from server.i18n import _
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.messages import FOLDABLE
from server.initial_state.registry import SECTIONS
from server.realm_cache import RealmCache
from server.runtime.version import announced
from server.settings import Settings
from storage import bots, clock, event_queues, realms, users
from storage.bots import DefaultsRow
from storage.database import Connection, Database
from storage.event_queues import NewQueue
from storage.ids import Position, QueueId, RealmId, UserId
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
    """Without what is chosen by `all_public_channels`, and by the defaults of a bot."""
    all_public_channels: bool | None
    """None: as the defaults of a bot say."""
    fetch_types: frozenset[str] | None
    include_subscribers: Literal["true", "false", "partial"]
    lifespan_seconds: int
    presence_history_limit_days: int | None = None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What register says about the server itself."""

    settings: Settings
    web_push_public_key: str


@dataclass(slots=True, eq=False)
class RegisterCall:
    """A call of register, and its caller."""

    actor: Actor
    registration: Registration
    is_cancelled: bool = False
    """Whether the caller no longer waits for the queue."""

    def sections(self) -> list[StateSection]:
        """Return the sections of the response."""
        fetch_types = self.registration.fetch_types
        return [each for each in SECTIONS if fetch_types is None or each.fetch_type in fetch_types]


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
    database: Database, realm_cache: RealmCache, server: ServerFacts, calls: Sequence[RegisterCall]
) -> list[Registered | DomainError]:
    """Create a queue for each call, or refuse it; return it with all requested state.

    The calls are of one realm, at most MAX_QUEUES, and share a snapshot: if they are several, all
    their sections have `fetch_many`. A queue's events are exactly those after the state. An
    exception leaves no queue behind.
    """
    realm_id = realm_cache.realm_id
    queue_ids = {
        call: QueueId(secrets.token_hex(16)) for call in calls if not call.actor.is_spectator
    }
    ended = await _announced(database, realm_id, queue_ids)
    begun = set[QueueId]()
    try:
        async with database.snapshot() as connection:
            snapshots, epoch = await _snapshots(connection, realm_cache, server, calls)
            fields = await _fields(connection, snapshots)
        rights = {
            queue_ids[call]: _rights(snapshot)
            for call, snapshot in snapshots.items()
            if call in queue_ids and not call.is_cancelled
        }
        if rights:
            [base] = {snapshot.position for snapshot in snapshots.values()}
            async with database.connection() as connection:
                begun = await event_queues.begin(
                    connection, realm_id, rights, epoch=epoch, base=base
                )
    finally:
        lost = [queue_id for queue_id in queue_ids.values() if queue_id not in begun]
        if lost:
            async with database.connection() as connection:
                await event_queues.delete(connection, realm_id, lost)
    outcomes: list[Registered | DomainError] = []
    for call in calls:
        if call not in snapshots:
            outcomes.append(UserDeactivatedError(_("Account is deactivated")))
            continue
        snapshot, queue_id = snapshots[call], queue_ids.get(call)
        if queue_id is not None and queue_id not in begun:
            # It was deleted meanwhile, by a change of role, or lost with a crash of the database.
            outcomes.append(ServerNotReadyError(_("The server is not ready. Try again shortly.")))
            continue
        queue = {
            "queue_id": queue_id,
            "last_event_id": FRESH_LAST_EVENT_ID,
            "position": snapshot.position,
            "idle_queue_timeout_secs": call.registration.lifespan_seconds,
        }
        folds = snapshot.shared.get(FOLDABLE, ())
        state = fields[call] | announced() | queue
        outcomes.append(Registered(queue_id, state, folds, ended.pop(call.actor.user_id, ())))
    return outcomes


def _rights(snapshot: Snapshot) -> dict[str, bool]:
    """Return what the queue's user may know, if that differs among users of the role."""
    if not snapshot.actor.is_guest:
        return {}
    # The name under which it is stored: see `QueueParams` (server/events/queue_params.py).
    return {"knows_everybody": snapshot.settings.guests_know_all_users(snapshot.graph)}


async def _announced(
    database: Database, realm_id: RealmId, queue_ids: Mapping[RegisterCall, QueueId]
) -> dict[UserId, list[QueueId]]:
    """Insert the queues; return those of their users that were deleted.

    They begin later. Later writes see them: events contain the flags of users with queues, and so
    of these from their first event on.
    """
    if not queue_ids:
        return {}
    bot_ids = {call.actor.user_id for call in queue_ids if call.actor.is_bot}
    async with database.connection() as connection:
        defaults = await bots.defaults(connection, realm_id, list(bot_ids)) if bot_ids else {}
        new = [
            NewQueue(
                queue_id,
                call.actor.user_id,
                msgspec.to_builtins(_queue_params(call, defaults.get(call.actor.user_id))),
                call.registration.lifespan_seconds,
            )
            for call, queue_id in queue_ids.items()
        ]
        return await event_queues.insert(connection, realm_id, new, most=MAX_QUEUES)


def _queue_params(call: RegisterCall, defaults: DefaultsRow | None) -> QueueParams:
    """Return the parameters of the call's queue; `defaults` are those of a bot."""
    params, everywhere = call.registration.queue, call.registration.all_public_channels
    if defaults is not None:
        if not params.narrow and defaults.events_channel_id is not None:
            narrow = (("channel", defaults.events_channel_id),)
            params = msgspec.structs.replace(params, narrow=narrow)
        if everywhere is None:
            everywhere = defaults.all_public_channels
    if everywhere and not call.actor.is_guest:
        params = msgspec.structs.replace(params, all_public_channels=True)
    return params


async def _snapshots(
    connection: Connection,
    realm_cache: RealmCache,
    server: ServerFacts,
    calls: Sequence[RegisterCall],
) -> tuple[dict[RegisterCall, Snapshot], int]:
    """Return the snapshot as each active caller sees it, and its epoch."""
    realm_id = realm_cache.realm_id
    clock_row, realm, rows = await connection.together(
        clock.read(connection, realm_id),
        realms.by_id(connection, realm_id),
        users.by_ids(connection, realm_id, list({call.actor.user_id for call in calls})),
    )
    assert clock_row is not None, "every realm has a clock"
    assert realm is not None, "a realm is never removed"
    as_seen_by = partial(
        Snapshot,
        connection=connection,
        realm_id=realm_id,
        position=Position(clock_row.position),
        realm=realm,
        settings=RealmSettings.of(realm.settings),
        graph=await realm_cache.groups_of(connection, realm),
        address=realm_cache.address_of(realm),
        realm_cache=realm_cache,
        server=server.settings,
        web_push_public_key=server.web_push_public_key,
    )
    by_id = {row.user_id: row for row in rows}
    snapshots = {}
    for call in calls:
        actor, registration = call.actor, call.registration
        row = actor.row if actor.is_spectator else by_id[actor.user_id]
        if row.is_active:
            snapshots[call] = as_seen_by(
                actor=replace(actor, row=row),
                view=registration.queue.view,
                fetch_types=registration.fetch_types,
                include_subscribers=registration.include_subscribers,
                presence_history_limit_days=registration.presence_history_limit_days,
            )
    return snapshots, clock_row.epoch


async def _fields(
    connection: Connection, snapshots: Mapping[RegisterCall, Snapshot]
) -> dict[RegisterCall, dict[str, Any]]:
    """Return the fields of all sections that each call asks for."""
    callers: dict[StateSection, list[RegisterCall]] = {}
    for call in snapshots:
        for section in call.sections():
            callers.setdefault(section, []).append(call)
    fields: dict[RegisterCall, dict[str, Any]] = {call: {} for call in snapshots}
    found = await connection.together(
        *[
            section.fetch_each([snapshots[call] for call in asking])
            for section, asking in callers.items()
        ]
    )
    for asking, each in zip(callers.values(), found, strict=True):
        for call, of_section in zip(asking, each, strict=True):
            fields[call] |= of_section
    return fields
