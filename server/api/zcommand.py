"""Endpoint of commands that clients send for their user."""

from dataclasses import dataclass
from typing import Any, Final

from server.actions import user_settings
from server.actions.user_settings import OwnChange
from server.api.endpoint import Access, Endpoint, Remark, Request
from server.api.params import Params
from server.domain.errors import BadRequestError
from server.domain.user_settings import UserSettings

_DARK: Final = 2
_LIGHT: Final = 3
"""Values of color_scheme."""


class CommandParams(Params):
    command: str
    """`/ping`, `/dark`, `/light`, `/fluid-width`, or `/fixed-width`."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """A command that sets one setting of the caller."""

    setting: str
    value: Any
    outcome: str
    """The resulting state, after the word `now` or `already`."""
    way_back: str
    """The command that does the opposite."""


_CHOICES: Final = {
    "dark": _Choice("color_scheme", _DARK, "in the dark theme", "light"),
    "light": _Choice("color_scheme", _LIGHT, "in the light theme", "dark"),
    "fluid-width": _Choice("fluid_layout_width", True, "as wide as the window", "fixed-width"),
    "fixed-width": _Choice("fluid_layout_width", False, "of a fixed width", "fluid-width"),
}
_OLDER_NAMES: Final = {"night": "dark", "day": "light"}


async def run_command(request: Request, params: CommandParams) -> Remark:
    """Run the command; `msg` says what has changed, and how to revert it."""
    if not params.command.startswith("/"):
        raise BadRequestError("There should be a leading slash in the zcommand.")
    name = params.command[1:].strip()
    if name == "ping":
        return Remark()
    choice = _CHOICES.get(_OLDER_NAMES.get(name, name))
    if choice is None:
        raise BadRequestError(f"No such command: {name}")
    before = getattr(UserSettings.of(request.actor.row.settings), choice.setting)
    if before == choice.value:
        return Remark(msg=f"What you see is already {choice.outcome}.")
    change = OwnChange(settings={choice.setting: choice.value})
    await request.write(user_settings.change_own_settings, change)
    return Remark(msg=f"What you see is now {choice.outcome}. To go back, type /{choice.way_back}.")


ENDPOINTS = (
    Endpoint(
        "POST",
        "/zcommand",
        Access.USER,
        CommandParams,
        run_command,
        Remark,
        summary="Run a slash command",
        description="The answer's `msg` says what has changed, and how to undo it.",
    ),
)
