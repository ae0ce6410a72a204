"""Widgets: polls and task lists, and validation of their submessages."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec
import orjson

from server.domain.errors import BadRequestError, InvalidParameterError
from server.i18n import _
from server.runtime.untrusted_json import decode_untrusted

MSG_TYPE: Final = "widget"
"""The only type of submessage."""
MAX_SUBMESSAGE_LENGTH: Final = 10_000

_COMMAND: Final = re.compile(r"/(poll|todo)(?=\s|$)")
_BULLET: Final = re.compile(r"\s*(?:[-*](?:\s+|$))?")
"""Only with a blank behind it: `-5` and `*this*` are options."""


def widget_of(content: str) -> str | None:
    """Return the widget of a message, as JSON; None for an ordinary message.

    `/poll` and `/todo` begin one: the first line is the question or the title, and each further
    line is an option, or a task with a description after a colon.
    """
    command = _COMMAND.match(content)
    if command is None:
        return None
    first, *lines = content[command.end() :].split("\n")
    items = [item for line in lines if (item := _BULLET.sub("", line, count=1).strip())]
    data: dict[str, Any]
    if command[1] == "poll":
        data = {"question": first.strip(), "options": items}
    else:
        data = {"task_list_title": first.strip(), "tasks": [_task(item) for item in items]}
    return json.dumps({"widget_type": command[1], "extra_data": data}, ensure_ascii=False)


def _task(item: str) -> dict[str, str]:
    task, _, description = item.partition(":")
    return {"task": task.strip(), "desc": description.strip()}


# -- choices

MAX_CHOICES: Final = 25
MAX_CHOICE_LENGTH: Final = 300
MAX_REPLY_LENGTH: Final = 2_000


class _ZformChoice(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["multiple_choice"]
    short_name: str
    long_name: str
    reply: str


class _Choices(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["choices"]
    heading: str
    choices: list[_ZformChoice]


class _ChoicesWidget(msgspec.Struct, forbid_unknown_fields=True):
    widget_type: Literal["zform"]
    extra_data: _Choices


def checked_choices(content: str) -> str:
    """Return the JSON of the widget by which clients offer texts to send.

    Raises InvalidParameterError.
    """
    name = "widget_content"
    try:
        widget = decode_untrusted(content, _ChoicesWidget)
    except msgspec.DecodeError as error:
        raise InvalidParameterError(name, f"{name} is not valid: {error}") from None
    choices = widget.extra_data.choices
    texts = [widget.extra_data.heading, *(c.short_name for c in choices)]
    texts += [c.long_name for c in choices]
    if not 0 < len(choices) <= MAX_CHOICES:
        raise InvalidParameterError(name, _("There are 1 to {limit} choices.", limit=MAX_CHOICES))
    if any(len(text) > MAX_CHOICE_LENGTH or "\0" in text for text in texts):
        raise InvalidParameterError(
            name,
            _("The texts of choices have at most {limit} characters.", limit=MAX_CHOICE_LENGTH),
        )
    if any(not 0 < len(c.reply.strip()) <= MAX_REPLY_LENGTH or "\0" in c.reply for c in choices):
        raise InvalidParameterError(
            name, _("The reply of a choice has 1 to {limit} characters.", limit=MAX_REPLY_LENGTH)
        )
    return msgspec.json.encode(widget).decode()


# -- submessages


class _Vote(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    key: str
    vote: int


class _Question(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    question: str


class _NewOption(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    option: str
    idx: int


class _Strike(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    key: str


class _NewTask(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    key: int
    task: str
    desc: str
    completed: bool


class _Title(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    title: str


_DATA: Final[Mapping[str, Mapping[str, type[msgspec.Struct]]]] = {
    "poll": {"vote": _Vote, "question": _Question, "new_option": _NewOption},
    "todo": {"strike": _Strike, "new_task": _NewTask, "new_task_list_title": _Title},
}
_OF_THE_AUTHOR: Final = {"question", "new_task_list_title"}


def check_submessage(widget: str | None, content: str, *, is_author: bool) -> None:
    """Raise BadRequestError unless this may be attached to the widget (its first submessage)."""
    if len(content) > MAX_SUBMESSAGE_LENGTH:
        raise BadRequestError(
            _("Submessage is too long (limit: {limit} characters)", limit=MAX_SUBMESSAGE_LENGTH)
        )
    data = _decoded(content)
    kinds = _DATA.get(_widget_type(widget)) if widget is not None else None
    if kinds is None:
        raise BadRequestError("You cannot attach a submessage to this message.")
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise BadRequestError("Unknown type of submessage for this widget.")
    try:
        checked = msgspec.convert(data, kinds[kind])
    except msgspec.ValidationError as error:
        raise BadRequestError(f"Invalid submessage: {error}") from error
    if isinstance(checked, _Vote) and checked.vote not in (1, -1):
        raise BadRequestError("Invalid submessage: a vote is 1 or -1")
    if kind in _OF_THE_AUTHOR and not is_author:
        raise BadRequestError("You can't edit this unless you are the author.")


def _decoded(content: str) -> Any:
    decode: Callable[[str], Any] = orjson.loads
    try:
        return decode(content)
    except orjson.JSONDecodeError as error:
        raise BadRequestError("Invalid json for submessage") from error


def _widget_type(widget: str) -> str:
    return str(orjson.loads(widget)["widget_type"])
