"""Buttons as parameters of requests."""

from collections.abc import Sequence
from typing import Literal

from server.api.params import Part
from server.domain.message_buttons import Button, Buttons, Confirmation, checked_buttons


class ConfirmParam(Part):
    title: str = ""
    """Title of the question, at most 75 characters."""
    text: str = ""
    """What happens after the click, at most 300 characters."""
    confirm: str = ""
    """Label that goes on with the click, at most 75 characters. Default: that of the client."""
    deny: str = ""
    """Label that does not, likewise."""


class ButtonParam(Part):
    id: str
    """Id of the button, unique in the message: at most 255 characters."""
    label: str
    """Text of the button, in a line of at most 75 characters."""
    value: str = ""
    """What the bot's service alone gets with a click, at most 2,000 characters."""
    style: Literal["default", "primary", "danger"] = "default"
    """Whether it is the usual choice, or one to think about."""
    confirm: ConfirmParam | None = None
    """Question to ask before the click is sent."""


def buttons_in(given: Sequence[ButtonParam]) -> Buttons:
    """Return the buttons, which are within their limits. Raises InvalidParameterError."""
    return checked_buttons([_button(each) for each in given])


def _button(given: ButtonParam) -> Button:
    return Button(
        id=given.id,
        label=given.label,
        value=given.value,
        style=given.style,
        confirm=None if given.confirm is None else Confirmation(**given.confirm.model_dump()),
    )
