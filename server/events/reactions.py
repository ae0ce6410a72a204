"""A reaction was added to a message, or taken off."""

from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.ids import MessageId, UserId


class Reactor(msgspec.Struct, frozen=True):
    """Who reacted, as clients of old know them."""

    email: str
    full_name: str
    user_id: UserId


class Reaction(Event, frozen=True, kw_only=True):
    """What both events say."""

    wire_type: ClassVar[str] = "reaction"

    type: Literal["reaction"] = "reaction"
    message_id: MessageId
    user_id: UserId
    user: Reactor
    emoji_name: str
    emoji_code: str
    reaction_type: str


class ReactionAdded(Reaction, frozen=True, kw_only=True):
    kind: ClassVar[str] = "reaction/add"

    op: Literal["add"] = "add"


class ReactionRemoved(Reaction, frozen=True, kw_only=True):
    kind: ClassVar[str] = "reaction/remove"

    op: Literal["remove"] = "remove"
