"""Presence: active, idle or offline, and its forms on the wire."""

from typing import Any, Final, Literal, NotRequired, TypedDict

import msgspec

from server.domain.profiles import public_email
from storage.ids import UserId
from storage.presences import PresenceRow

PING_INTERVAL_SECONDS: Final = 60
"""Interval of clients' pings."""
OFFLINE_AFTER_SECONDS: Final = 200
"""Timeout after which a user is offline: two pings may be lost."""
NEWS_AFTER_SECONDS: Final = 55
"""Minimum age at which a ping of another client is recorded."""
ACTIVE_LAG_SECONDS: Final = 70
"""In the legacy form a user is active if the ping before the last was this recent."""
DEFAULT_HISTORY_DAYS: Final = 14
SECONDS_A_DAY: Final = 24 * 3600
NOTHING_YET: Final = -1
"""In place of an update's number: none has been seen."""
CLIENT: Final = "website"
"""Clients are not distinguished any more; the legacy form has a place for one."""

Status = Literal["active", "idle", "offline"]
PRESENCE_OF: Final[dict[Status, int]] = {"offline": 0, "idle": 1, "active": 2}
"""Rank of a status."""


class ModernPresence(TypedDict):
    """When a user was active and seen last, as Unix times."""

    active_timestamp: int
    idle_timestamp: int


class LegacyPresence(TypedDict):
    """A user's presence at one kind of client, in the legacy form."""

    client: str
    status: Literal["active", "idle"]
    timestamp: int
    pushable: NotRequired[bool]
    """Left out of the aggregate of all clients."""


class Presence(msgspec.Struct, frozen=True, array_like=True):
    """When a user was active and seen last, in whole Unix seconds."""

    user_id: UserId
    email: str
    """The public email address."""
    active_timestamp: int
    idle_timestamp: int
    """Time of the last ping, active or idle."""

    def status(self, now: float) -> Status:
        """Return the status at that moment."""
        return status_of(self.active_timestamp, self.idle_timestamp, now)

    def modern(self) -> dict[str, int]:
        return {
            "active_timestamp": self.active_timestamp,
            "idle_timestamp": self.idle_timestamp,
        }

    def legacy(self) -> dict[str, Any]:
        """Return the legacy form by client; clients judge the age themselves."""
        is_active = self.active_timestamp + ACTIVE_LAG_SECONDS >= self.idle_timestamp
        status = {
            "status": "active" if is_active else "idle",
            "timestamp": self.active_timestamp if is_active else self.idle_timestamp,
        }
        return {CLIENT: {"client": CLIENT, **status, "pushable": False}}

    def legacy_with_aggregate(self) -> dict[str, Any]:
        """Return the legacy form with the aggregate of all clients, which is the same for one."""
        by_client = self.legacy()
        aggregated = {name: by_client[CLIENT][name] for name in ("client", "status", "timestamp")}
        return {"aggregated": aggregated, **by_client}

    def with_ping(self, now: int, *, active: bool) -> "Presence":
        """Return the presence after a ping."""
        return Presence(
            self.user_id,
            self.email,
            max(self.active_timestamp, now) if active else self.active_timestamp,
            max(self.idle_timestamp, now),
        )

    def knows(self, now: int, *, active: bool) -> bool:
        """Return whether such a ping would change nothing."""
        heard = self.active_timestamp if active else self.idle_timestamp
        return now - min(heard, self.idle_timestamp) < NEWS_AFTER_SECONDS


def presence_of(row: PresenceRow, domain: str) -> Presence:
    """Return a user's stored presence for clients. `domain` is the realm's."""
    return Presence(
        row.user_id,
        public_email(row, domain),
        int(row.active_at.timestamp()),
        int(row.seen_at.timestamp()),
    )


def status_of(active_timestamp: float, idle_timestamp: float, now: float) -> Status:
    """Return the status of a user who was active and seen at these times."""
    if now - active_timestamp <= OFFLINE_AFTER_SECONDS:
        return "active"
    return "idle" if now - idle_timestamp <= OFFLINE_AFTER_SECONDS else "offline"
