"""Events that only the server itself consumes."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from typing_extensions import override

from server.events.base import Event
from server.realm_cache import user_key
from storage.ids import Position, UserId


class Tick(Event, frozen=True, kw_only=True):
    """An empty entry: it uses up a position, so that queues have new event ids."""

    kind: ClassVar[str] = "tick"


class QueuesEnded(Event, frozen=True, kw_only=True):
    """The event queues of these users are deleted: their clients have to register again."""

    kind: ClassVar[str] = "queues_ended"

    user_ids: tuple[UserId, ...]

    @override
    def ended_queues(self) -> Sequence[UserId]:
        return self.user_ids

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        # Their API keys may have been replaced.
        return tuple(map(user_key, self.user_ids))


class LogBlanked(Event, frozen=True, kw_only=True):
    """The bodies of earlier entries are removed."""

    kind: ClassVar[str] = "log_blanked"

    entries: tuple[Position, ...]

    @override
    def blanked(self) -> Sequence[Position]:
        return self.entries


class JobEnqueued(Event, frozen=True, kw_only=True):
    """A job of a queue processor (server/jobs.py); the shipper publishes it to its queue."""

    kind: ClassVar[str] = "job"

    queue: str
    job: msgspec.Raw
    after_seconds: float = 0.0
    asked_at: float = 0.0
    """Seconds since 1970; 0 if the entry is of an earlier release."""
