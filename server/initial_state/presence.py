"""Register's `presence`: users seen in the last two weeks, or in as many days as requested."""

from typing import Any, TypedDict

import msgspec

from server.domain.presence import (
    DEFAULT_HISTORY_DAYS,
    NOTHING_YET,
    SECONDS_A_DAY,
    LegacyPresence,
    ModernPresence,
)
from server.initial_state import people
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.presence_index import (
    NO_PRESENCES,
    PresenceEntry,
    PresenceIndex,
    as_known,
    as_object,
)
from server.realm_cache import ROLL
from storage import presences
from storage.ids import UserId


class PresenceFields(TypedDict):
    presences: dict[UserId, ModernPresence]
    """By user id, with `slim_presence`; otherwise by email address, and then by client."""
    presence_last_update_id: int
    server_timestamp: float


class LegacyPresenceFields(TypedDict):
    presences: dict[str, dict[str, LegacyPresence]]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    now = snapshot.graph.clock.now().timestamp()
    if snapshot.actor.is_spectator or snapshot.settings.presence_disabled:
        shown, last_update_id = NO_PRESENCES, NOTHING_YET
    else:
        days = snapshot.presence_history_limit_days
        seen_since = now - _seconds(days)
        kept, later = await _rolls(snapshot)
        entries = [e for e in kept.seen_since(seen_since) if later.of(e.user_id) is None]
        entries = await _as_known(snapshot, [*entries, *later.seen_since(seen_since)])
        shown = msgspec.Raw(as_object(entries, slim=snapshot.view.slim_presence))
        last_update_id = max(kept.last_update_id, later.last_update_id)
    return {
        "presences": shown,
        "presence_last_update_id": last_update_id,
        "server_timestamp": now,
    }


def _seconds(days: int | None) -> int:
    return (DEFAULT_HISTORY_DAYS if days is None else days) * SECONDS_A_DAY


async def _rolls(snapshot: Snapshot) -> tuple[PresenceIndex, PresenceIndex]:
    """Return the cached index, and the snapshot's presences beyond it.

    The latter is not shared: a user may be deactivated or renamed meanwhile.
    """
    domain = snapshot.address.domain
    kept = snapshot.realm_cache.recall(ROLL)
    if not isinstance(kept, PresenceIndex):
        kept = PresenceIndex(domain)
    later = await presences.changed_since(
        snapshot.connection, snapshot.realm_id, kept.last_update_id
    )
    return kept, PresenceIndex(domain, later)


async def _as_known(snapshot: Snapshot, entries: list[PresenceEntry]) -> list[PresenceEntry]:
    known = await people.known(snapshot)
    if known is None:
        return entries
    only_known = snapshot.server.can_access_all_users_group_limits_presence
    return as_known(entries, known, snapshot.address.domain, only_known=only_known)


SECTION = StateSection("presence", fetch, (PresenceFields, LegacyPresenceFields))
