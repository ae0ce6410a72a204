"""The interface of a kind of due item."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from server.actions.realm_services import RealmServices
from storage import timers
from storage.database import Connection
from storage.ids import RealmId


class Timer(Protocol):
    """A row with a due time."""

    @property
    def realm_id(self) -> RealmId: ...

    @property
    def due_at(self) -> datetime: ...


Row = TypeVar("Row", bound=Timer)


@dataclass(frozen=True, slots=True)
class DueItemKind(Generic[Row]):
    """The callbacks with which the runner of due items handles a kind."""

    name: str
    due: Callable[[Connection, timers.DueWindow], Awaitable[list[Row]]]
    """Return the rows in the window, in the order of their time within a realm."""
    among: Callable[[Connection, Sequence[timers.TimerKey]], Awaitable[list[Row]]]
    """Return those of the given rows that are still to be sent."""
    id_of: Callable[[Row], int]
    place_of: Callable[[Row], Hashable]
    """Return the destination: items with the same destination are sent one after the other."""
    deliver: Callable[[RealmServices, Row], Awaitable[bool]]
    """Send the item exactly once, or mark it as failed; return whether this call did it."""
    give_up: Callable[[RealmServices, Row], Awaitable[None]]
    """Mark the item as failed after the last retry."""
