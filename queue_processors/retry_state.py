"""The retry state of due items that could not be sent."""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic

from queue_processors.timer_kind import DueItemKind, Row
from storage.database import Connection
from storage.ids import RealmId
from storage.timers import TimerKey

STATE_LIFETIME_SECONDS: Final = 3_600.0


Place = tuple[RealmId, Hashable]


@dataclass(slots=True)
class _ItemRetries(Generic[Row]):
    row: Row
    attempts: int = 0
    until: float = 0.0
    """The time of the next retry."""


class RetryState(Generic[Row]):
    """The retry state of one kind of due item, with a delay that grows on each failure.

    Items with the same destination wait for the failed one, until it is sent, changed or retried.
    """

    def __init__(self, kind: DueItemKind[Row], pause_after: Callable[[int], float]) -> None:
        self._kind = kind
        self._pause_after = pause_after
        self._own: dict[TimerKey, _ItemRetries[Row]] = {}
        self._first: dict[Place, TimerKey] = {}
        """The item that each blocked destination waits for."""
        self._behind: dict[TimerKey, Place] = {}

    def waits(self, row: Row) -> bool:
        """Whether another item has to be sent first; if so, this one is delayed as long."""
        place = self._place(row)
        if self._holder(place) is None:
            return False
        self._behind[self._key(row)] = place
        return True

    def count(self, row: Row, *, holds_up: bool) -> None:
        """Record a failed attempt; with `holds_up`, the item's destination is blocked."""
        trouble = self._trouble(row)
        trouble.attempts += 1
        trouble.until = _now() + self._pause_after(trouble.attempts)
        if holds_up:
            self._first[self._place(row)] = self._key(row)

    def postpone(self, row: Row) -> None:
        """Delay an item without an attempt, and block its destination."""
        self._trouble(row).until = _now() + self._pause_after(0)
        self._first[self._place(row)] = self._key(row)

    def attempts(self, row: Row) -> int:
        return self._own[self._key(row)].attempts

    def forget(self, row: Row) -> None:
        self._own.pop(self._key(row), None)

    async def look_after(self, connection: Connection) -> None:
        """Delete the state of items that are gone or changed, so that they block no destination."""
        seen = dict(self._own)
        if not seen:
            return
        there = {self._key(row): row for row in await self._kind.among(connection, list(seen))}
        for key, trouble in seen.items():
            is_over = (
                there.get(key) != trouble.row or trouble.until < _now() - STATE_LIFETIME_SECONDS
            )
            if is_over and self._own.get(key) is trouble:
                del self._own[key]

    def left_alone(self) -> list[TimerKey]:
        """Return the items that are not to be retried yet."""
        self._first = {place: key for place, key in self._first.items() if self._holder(place)}
        self._behind = {k: place for k, place in self._behind.items() if place in self._first}
        now = _now()
        own = [key for key, trouble in self._own.items() if trouble.until > now]
        return [*own, *self._behind]

    def _trouble(self, row: Row) -> _ItemRetries[Row]:
        return self._own.setdefault(self._key(row), _ItemRetries(row))

    def _holder(self, place: Place) -> TimerKey | None:
        key = self._first.get(place)
        trouble = None if key is None else self._own.get(key)
        return None if trouble is None or trouble.until <= _now() else key

    def _key(self, row: Row) -> TimerKey:
        return row.realm_id, self._kind.id_of(row)

    def _place(self, row: Row) -> Place:
        return row.realm_id, self._kind.place_of(row)


def _now() -> float:
    return asyncio.get_running_loop().time()
