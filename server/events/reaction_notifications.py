"""Notifications of reactions, only for clients with the capability `reaction_notifications`."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import MessageId, Position, UserId


class NotifiedReaction(msgspec.Struct, frozen=True, kw_only=True):
    """A reaction of which the sender of the message is notified."""

    user_id: UserId
    emoji_name: str
    emoji_code: str
    reaction_type: str


class ReactionsNotified(Event, frozen=True, kw_only=True):
    """The new reactions to a message of the user, once for all that came within a window."""

    kind: ClassVar[str] = "reaction_notification"
    wire_type: ClassVar[str] = "reaction_notification"
    varies_by: ClassVar[tuple[str, ...]] = ("reaction_notifications",)

    type: Literal["reaction_notification"] = "reaction_notification"
    message_id: MessageId
    window_id: Position
    """Of several notifications of a message, the newest has the highest one."""
    user_count: int
    """The number of users who have reacted."""
    reactions: list[NotifiedReaction]
    """The first of them, in their order."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.reaction_notifications else ()
