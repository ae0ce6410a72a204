"""Event of users who come online or become active."""

from collections.abc import Sequence
from typing import Any, ClassVar

from typing_extensions import override

from server.domain.presence import Presence
from server.events.base import ClientView, Event
from storage.ids import Position


class PresencesChanged(Event, frozen=True, kw_only=True):
    """Users who are present now. For pings it is delivered once and never logged.

    Clients that support simplified events get all of them in one; others one event for each.
    """

    kind: ClassVar[str] = "presence"
    wire_type: ClassVar[str] = "presence"
    varies_by: ClassVar[tuple[str, ...]] = ("simplified_presence_events", "slim_presence")

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
