"""Narrows: filters of messages in history and in event queues."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from server.domain.errors import BadNarrowError
from server.domain.names import fold_name
from storage.address_folding import fold_address

_EVENT_OPERATORS: Final = ("channel", "topic", "sender", "is", "dm")
_ALIASES: Final = {
    "stream": "channel",
    "streams": "channels",
    "subject": "topic",
    "pm-with": "dm",
    "from": "sender",
}
_IS_OPERANDS: Final = (
    "dm",
    "private",
    "starred",
    "mentioned",
    "alerted",
    "unread",
    "resolved",
    "pinned",
)
EMPTY_TOPIC: Final = "(no topic)"
"""The empty topic's name for old clients."""
RESOLVED_PREFIX: Final = "\N{HEAVY CHECK MARK} "
GivenNarrow = list[list[str | int | list[int]] | dict[str, Any]]
"""In the form of clients; `parse_narrow` interprets it."""


@dataclass(frozen=True, slots=True)
class EventNarrow:
    """The narrow of an event queue: a conjunction of terms; it filters message events only."""

    terms: "tuple[tuple[str, Operand], ...]"

    @classmethod
    def parse(cls, narrow: Sequence[Any]) -> "EventNarrow":
        """Parse like `parse_narrow`; raise BadNarrowError also for what queues do not support."""
        terms = parse_narrow(narrow)
        for term in terms:
            if term.operator not in _EVENT_OPERATORS or term.negated:
                name = f"-{term.operator}" if term.negated else term.operator
                raise BadNarrowError(f"Operator {name} not supported.")
            if term.operator == "is" and term.operand not in _IS_OPERANDS:
                raise BadNarrowError(f"Invalid 'is' operand {term.operand}.")
        return cls(tuple((term.operator, term.operand) for term in terms))

    def admits(self, event: Any, reader: "QueueReader") -> bool:
        """Return whether an event passes, for this reader; other events than messages always do."""
        if event.wire_type != "message":
            return True
        return all(_TESTS[name](event, operand, reader) for name, operand in self.terms)


class QueueReader(NamedTuple):
    """The user of an event queue, and their flags on the message."""

    user_id: int
    flags: Collection[str]


def _is(event: Any, operand: str, reader: QueueReader) -> bool:
    if operand in ("dm", "private"):
        return event.message.channel_id is None
    if operand == "resolved":
        message = event.message
        return message.channel_id is not None and message.topic.startswith(RESOLVED_PREFIX)
    if operand == "unread":
        return "read" not in reader.flags
    return not flags_of_operand(operand).isdisjoint(reader.flags)


def flags_of_operand(operand: str) -> frozenset[str]:
    """Return the flags any of which makes a message match `is:operand`."""
    return _FLAGS[operand]


_FLAGS: Final = {
    "starred": frozenset({"starred"}),
    "mentioned": frozenset({"mentioned", "stream_wildcard_mentioned", "topic_wildcard_mentioned"}),
    "alerted": frozenset({"has_alert_word"}),
    # No message is pinned when it is sent.
    "pinned": frozenset[str](),
}


def _dm(event: Any, operand: "Operand", reader: QueueReader) -> bool:
    """As in history: the conversation of the reader with exactly the named users."""
    message = event.message
    if message.channel_id is not None:
        return False
    named: set[int | str]
    if isinstance(operand, str):
        named = {fold_address(e.strip()) for e in operand.split(",")}
        everyone = {r.id: fold_address(r.email) for r in message.recipients}
    else:
        named = {operand} if isinstance(operand, int) else set(operand)
        everyone = {r.id: r.id for r in message.recipients}
    return named | {everyone.get(reader.user_id)} == set(everyone.values())


def _channel(event: Any, operand: str | int, reader: QueueReader) -> bool:
    del reader
    message = event.message
    if message.channel_id is None:
        return False
    if isinstance(operand, int):
        return bool(operand == message.channel_id)
    is_name = fold_name(operand) == fold_name(message.channel_name)
    return is_name or operand == str(message.channel_id)


def _topic(event: Any, operand: str, reader: QueueReader) -> bool:
    del reader
    message = event.message
    if message.channel_id is None:
        return False
    if message.topic == "":
        return operand in ("", EMPTY_TOPIC, message.empty_topic_display_name)
    topic: str = message.topic
    return fold_name(topic) == fold_name(operand)


def _sender(event: Any, operand: str | int, reader: QueueReader) -> bool:
    del reader
    sender = event.message.sender
    if isinstance(operand, int):
        return bool(sender.id == operand)
    return fold_address(sender.email) == fold_address(operand) or str(sender.id) == operand


_TESTS: Final[dict[str, Callable[[Any, Any, QueueReader], bool]]] = {
    "channel": _channel,
    "topic": _topic,
    "sender": _sender,
    "is": _is,
    "dm": _dm,
}

Operand = str | int | tuple[int, ...]

OPERATORS: Final[dict[str, tuple[type, ...]]] = {
    "channel": (str, int),
    "channels": (str,),
    "topic": (str,),
    "dm": (str, int, tuple),
    "dm-including": (str, int, tuple),
    "group-pm-with": (str, int, tuple),
    "sender": (str, int),
    "id": (str, int),
    "near": (str, int),
    "with": (str, int),
    "search": (str,),
    "mentions": (str, int),
    "has": (str,),
    "is": (str,),
}
"""Operators of history narrows, with the types of their operands."""
OPERANDS: Final[dict[str, tuple[str, ...]]] = {
    "channels": ("public", "web-public", "archived"),
    "has": (
        "link",
        "links",
        "attachment",
        "attachments",
        "image",
        "images",
        "reaction",
        "reactions",
    ),
    "is": (*_IS_OPERANDS, "followed", "muted"),
}
MAX_TERMS: Final = 100
"""Maximum per narrow."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a history narrow."""

    operator: str
    operand: Operand
    negated: bool = False


def parse_narrow(narrow: Sequence[Any]) -> tuple[Term, ...]:
    """Return the terms of a narrow, in either of the two forms that clients send.

    Raises BadNarrowError.
    """
    if len(narrow) > MAX_TERMS:
        raise BadNarrowError(f"too many terms (maximum {MAX_TERMS})")
    return tuple(_term(each) for each in narrow)


def _term(given: Any) -> Term:
    negated: object = False
    if isinstance(given, dict):
        operator, operand = given.get("operator"), given.get("operand")
        negated = given.get("negated") or False
    elif isinstance(given, list | tuple) and len(given) == 2:  # noqa: PLR2004 - operator and operand
        operator, operand = given
    else:
        raise BadNarrowError("element is not a dict or a pair")
    if not isinstance(operator, str) or not isinstance(negated, bool):
        raise BadNarrowError("element is not a dict or a pair")
    if operator.startswith("-"):
        # As written in a search box.
        operator, negated = operator[1:], not negated
    # Some old clients write pm_with.
    operator = operator.replace("_", "-")
    name = _ALIASES.get(operator, operator)
    if name not in OPERATORS:
        raise BadNarrowError(f"unknown '{operator}' operator")
    return Term(name, _operand(name, operand), negated)


def _operand(name: str, given: Any) -> Operand:
    """Return the operand, if its type fits the operator; raise BadNarrowError."""
    if isinstance(given, list | tuple) and all(type(each) is int for each in given):
        given = tuple(given)
    if type(given) not in OPERATORS[name]:
        raise BadNarrowError(f"invalid operand for '{name}'")
    if name in OPERANDS and given not in OPERANDS[name]:
        raise BadNarrowError(f"unknown '{name}' operand {given}")
    operand: Operand = given
    return operand
