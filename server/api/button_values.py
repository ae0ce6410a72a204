"""Buttons as parameters of requests."""

from collections.abc import Sequence
from typing import Literal

from server.api.params import Part
from server.domain.message_buttons import Button, Buttons, Confirmation, checked_buttons


class ConfirmParam(Part):
    title: str = ""
    text: str = ""
    confirm: str = ""
    deny: str = ""


class ButtonParam(Part):
    id: str
    label: str
    value: str = ""
    style: Literal["default", "primary", "danger"] = "default"
    confirm: ConfirmParam | None = None


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
