"""Event of users who come online or become active."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

from typing_extensions import override

from server.domain.presence import LegacyPresence, ModernPresence, Presence
from server.events.base import ClientView, Event
from storage.ids import Position, UserId


class PresencesWire(TypedDict):
    """Users who are present now, for clients with `simplified_presence_events`."""

    type: Literal["presence"]
    presences: dict[UserId, ModernPresence]


class PresenceWire(TypedDict):
    """A user who is present now, for other clients."""

    type: Literal["presence"]
    user_id: UserId
    email: NotRequired[str]
    server_timestamp: float
    presence: dict[str, LegacyPresence]


class PresencesChanged(Event, frozen=True, kw_only=True):
    """Users who are present now. For pings it is delivered once and never logged.

    Clients that support simplified events get all of them in one; others one event for each.
    """

    kind: ClassVar[str] = "presence"
    wire_type: ClassVar[str] = "presence"
    varies_by: ClassVar[tuple[str, ...]] = ("simplified_presence_events", "slim_presence")
    wires: ClassVar[tuple[type, ...]] = (PresencesWire, PresenceWire)

    people: list[Presence]
    server_timestamp: float

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if view.simplified_presence_events:
            presences = {str(person.user_id): person.modern() for person in self.people}
            return ({"type": "presence", "presences": presences},)
        return [self._single(person, slim=view.slim_presence) for person in self.people]

    def _single(self, person: Presence, *, slim: bool) -> dict[str, Any]:
        return {
            "type": "presence",
            "user_id": person.user_id,
            **({} if slim else {"email": person.email}),
            "server_timestamp": self.server_timestamp,
            "presence": person.legacy(),
        }
