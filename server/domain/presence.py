"""Who counts as active, idle or offline, and how clients are told."""

from typing import Any, Final, Literal

import msgspec

from server.domain.profiles import public_email
from storage.ids import UserId
from storage.presences import PresenceRow

PING_INTERVAL_SECONDS: Final = 60
"""How often clients say that they are there."""
OFFLINE_AFTER_SECONDS: Final = 200
"""Who has said nothing for longer is offline: two pings may be lost."""
NEWS_AFTER_SECONDS: Final = 55
"""What was known this short ago need not be said again, by another client of the same person."""
ACTIVE_LAG_SECONDS: Final = 70
"""In the legacy form a user is active whose last ping but one was, at the latest."""
DEFAULT_HISTORY_DAYS: Final = 14
SECONDS_A_DAY: Final = 24 * 3600
NOTHING_YET: Final = -1
"""Instead of the number of an update: none has been seen."""
CLIENT: Final = "website"
"""Clients are not told apart any more; the legacy form has a place for one."""

Status = Literal["active", "idle", "offline"]
PRESENCE_OF: Final[dict[Status, int]] = {"offline": 0, "idle": 1, "active": 2}
"""How much a user is there."""


class Presence(msgspec.Struct, frozen=True, array_like=True):
    """When a user was active and seen last, in whole Unix seconds."""

    user_id: UserId
    email: str
    """The address by which every user knows them."""
    active_timestamp: int
    idle_timestamp: int
    """When one of their clients was last heard of, whether they sat at it or not."""

    def status(self, now: float) -> Status:
        """Return what clients make of it at that moment."""
        return status_of(self.active_timestamp, self.idle_timestamp, now)

    def modern(self) -> dict[str, int]:
        return {
            "active_timestamp": self.active_timestamp,
            "idle_timestamp": self.idle_timestamp,
        }

    def legacy(self) -> dict[str, Any]:
        """By client; return whether it is long ago, clients find out by themselves."""
        is_active = self.active_timestamp + ACTIVE_LAG_SECONDS >= self.idle_timestamp
        status = {
            "status": "active" if is_active else "idle",
            "timestamp": self.active_timestamp if is_active else self.idle_timestamp,
        }
        return {CLIENT: {"client": CLIENT, **status, "pushable": False}}

    def legacy_with_aggregate(self) -> dict[str, Any]:
        """Return the same with what all clients come to, which for one client is the same again."""
        by_client = self.legacy()
        aggregated = {name: by_client[CLIENT][name] for name in ("client", "status", "timestamp")}
        return {"aggregated": aggregated, **by_client}

    def with_ping(self, now: int, *, active: bool) -> "Presence":
        """After one of their clients has said something."""
        return Presence(
            self.user_id,
            self.email,
            max(self.active_timestamp, now) if active else self.active_timestamp,
            max(self.idle_timestamp, now),
        )

    def knows(self, now: int, *, active: bool) -> bool:
        """Return whether such a ping would say nothing new."""
        heard = self.active_timestamp if active else self.idle_timestamp
        return now - min(heard, self.idle_timestamp) < NEWS_AFTER_SECONDS


def presence_of(row: PresenceRow, domain: str) -> Presence:
    """Return what is kept of a user, as clients know it. `domain` is that of the organization."""
    return Presence(
        row.user_id,
        public_email(row, domain),
        int(row.active_at.timestamp()),
        int(row.seen_at.timestamp()),
    )


def status_of(active_timestamp: float, idle_timestamp: float, now: float) -> Status:
    """Return what a user counts as who was active and seen then."""
    if now - active_timestamp <= OFFLINE_AFTER_SECONDS:
        return "active"
    return "idle" if now - idle_timestamp <= OFFLINE_AFTER_SECONDS else "offline"
