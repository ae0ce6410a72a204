"""Events of reactions."""

from collections.abc import Collection, Sequence
from typing import ClassVar, Literal, Self

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from server.domain.addresses import RealmAddress
from server.domain.shown_people import ShownPerson, inaccessible_person
from server.events.base import Event
from storage.ids import MessageId, UserId


class Reactor(msgspec.Struct, frozen=True):
    """The user who reacted, in the form of older clients."""

    email: str
    full_name: str
    user_id: UserId

    @classmethod
    def of(cls, person: ShownPerson) -> "Reactor":
        return cls(person.email, person.full_name, person.user_id)


class Reaction(Event, frozen=True, kw_only=True):
    """Base of both events."""

    wire_type: ClassVar[str] = "reaction"

    type: Literal["reaction"] = "reaction"
    message_id: MessageId
    user_id: UserId
    user: Reactor
    emoji_name: str
    emoji_code: str
    reaction_type: str

    @override
    def shows(self) -> Sequence[UserId]:
        return (self.user_id,)

    @override
    def masked(self, strangers: Collection[UserId], address: RealmAddress) -> Self:
        if self.user_id not in strangers:
            return self
        return replace(self, user=Reactor.of(inaccessible_person(self.user_id, address)))


class ReactionAdded(Reaction, frozen=True, kw_only=True):
    kind: ClassVar[str] = "reaction/add"

    op: Literal["add"] = "add"


class ReactionRemoved(Reaction, frozen=True, kw_only=True):
    kind: ClassVar[str] = "reaction/remove"

    op: Literal["remove"] = "remove"
