"""The words in which all monitoring services speak: alerts, incidents and errors."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from server.domain.markdown.writing import time_mark
from server.integrations.base import Stage
from server.integrations.markdown import bold, bullets, code, one_line, text
from server.integrations.payload import Payload

FIRING: Final = ":rotating_light:"
WARNING: Final = ":warning:"
RESOLVED: Final = ":check:"
NEUTRAL: Final = ""

MAX_LABELS: Final = 12
_MAX_TITLE: Final = 43
"""Characters of a title in a topic that ends with an id; both together fit into a topic."""
_MAX_ID: Final = 14
"""Characters of an id that is shown whole. Longer ones (UUIDs) are told apart by their first."""
_SHORT_ID: Final = 8
_MARKS: Final = {
    **dict.fromkeys(("fatal", "critical", "error", "disaster", "high", "emergency"), FIRING),
    **dict.fromkeys(("warning", "average", "medium"), WARNING),
}
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_UNITS: Final = (
    (0, 1e11, 1),
    (1e11, 1e14, 1e3),
    (1e14, 1e17, 1e6),
    (9e17, 1e19, 1e9),
)
"""Ranges of seconds, milliseconds, microseconds and nanoseconds since 1970."""


def mark(severity: str) -> str:
    """Return the emoji of a severity, or an empty text for a slight one."""
    return _MARKS.get(severity.lower(), NEUTRAL)


def stage_of(emoji: str) -> Stage | None:
    """Return the stage of an alert of which the message begins with this mark."""
    return {FIRING: Stage.FIRING, RESOLVED: Stage.RESOLVED}.get(emoji)


def state(emoji: str, word: str, what: str, *, severity: str = "") -> str:
    """Return the first line of an alert: its state, its severity and what it is about.

    `what` is Markdown.
    """
    in_brackets = f" ({text(severity)})" if severity else ""
    return f"{emoji} {bold(word)}{in_brackets}: {what}".strip()


def moment(value: Payload) -> str:
    """Return a time in the reader's time zone; empty if the value is none.

    It may be in ISO 8601, or a number of seconds, milliseconds, microseconds or nanoseconds.
    """
    number = value.number()
    try:
        if number:
            unit = next(unit for low, high, unit in _UNITS if low < number < high)
            time = datetime.fromtimestamp(number / unit, UTC)
        else:
            time = datetime.fromisoformat(value.text()[:40])
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError, OSError, StopIteration):
        return ""
    return time_mark(time) if time >= _EPOCH else ""


def facts(*named: tuple[str, str]) -> str:
    """Return a list of named values, without those that are empty. The values are Markdown."""
    return bullets(f"{text(name)}: {value}" for name, value in named if value)


def labels(payload: Payload, omitted: Iterable[str] = ()) -> str:
    """Return an object of texts as code: `host=a`, `zone=b`."""
    shown = [
        code(f"{name}={value.text()}")
        for name, value in payload.fields()
        if name not in omitted and value.text()
    ]
    more = [f"and {len(shown) - MAX_LABELS} more"] if len(shown) > MAX_LABELS else []
    return ", ".join(shown[:MAX_LABELS] + more)


def topic_with_id(title: str, identity: str) -> str:
    """Return a topic for one of several things that may have the same title."""
    if not identity:
        return one_line(title)
    shown = identity if len(identity) <= _MAX_ID else identity[:_SHORT_ID]
    return f"{one_line(title, _MAX_TITLE)} ({one_line(shown)})"
