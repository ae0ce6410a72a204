"""One kind of thing that is sent at its time."""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from server.actions.realm_services import RealmServices
from storage import timers
from storage.database import Connection
from storage.ids import RealmId


class Timer(Protocol):
    """A row with a time."""

    @property
    def realm_id(self) -> RealmId: ...

    @property
    def due_at(self) -> datetime: ...


Row = TypeVar("Row", bound=Timer)


@dataclass(frozen=True, slots=True)
class DueItemKind(Generic[Row]):
    """What the timekeeper has to know of it."""

    name: str
    due: Callable[[Connection, timers.DueWindow], Awaitable[list[Row]]]
    """What the window shows, each realm's in order."""
    among: Callable[[Connection, Sequence[timers.TimerKey]], Awaitable[list[Row]]]
    """Those of these that are still to be sent."""
    id_of: Callable[[Row], int]
    place_of: Callable[[Row], Hashable]
    """Where it goes: what goes to the same place is sent in order, one after the other."""
    deliver: Callable[[RealmServices, Row], Awaitable[bool]]
    """Sends it once, however many try, or lets it fail; whether it was done by this call."""
    give_up: Callable[[RealmServices, Row], Awaitable[None]]
    """Lets it fail: each try ended in an error of ours."""
