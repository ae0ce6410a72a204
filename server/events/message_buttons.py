"""Events of buttons of bots' messages, only for clients with the capability `message_buttons`."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from typing_extensions import override

from server.domain.message_buttons import ShownButton
from server.events.base import ClientView, Event
from storage.ids import MessageId, Position, UserId


class MessageButtonsChanged(Event, frozen=True, kw_only=True):
    """All buttons that a message has now."""

    kind: ClassVar[str] = "message_buttons"
    wire_type: ClassVar[str] = "message_buttons"
    varies_by: ClassVar[tuple[str, ...]] = ("message_buttons",)

    type: Literal["message_buttons"] = "message_buttons"
    message_id: MessageId
    buttons: list[ShownButton]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.message_buttons else ()


class ButtonClickAnswered(Event, frozen=True, kw_only=True):
    """The end of a click, or a later answer to it, for the user who has clicked; it is no message.

    A click without an answer for that user alone ends with an empty one.
    """

    kind: ClassVar[str] = "button_click_answer"
    wire_type: ClassVar[str] = "button_click_answer"
    varies_by: ClassVar[tuple[str, ...]] = ("message_buttons",)

    type: Literal["button_click_answer"] = "button_click_answer"
    click_id: str
    """As the click returned it."""
    message_id: MessageId
    bot_id: UserId
    is_error: bool
    """Whether the server says that something has failed; otherwise it is the bot's answer."""
    content: str
    """In Markdown; empty if there is nothing to show."""
    rendered_content: str

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.message_buttons else ()
