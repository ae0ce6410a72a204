"""Topic names with the mark of resolved topics."""

import re
from typing import Final, Literal

from server.domain.narrow import RESOLVED_PREFIX

MarkChange = Literal["resolved", "unresolved"]
_BARE_MARK: Final = RESOLVED_PREFIX.strip()
_MARKS: Final = re.compile(rf"(?:{_BARE_MARK} +)+(?:{_BARE_MARK}$)?")
_CLIENT_MARKS: Final = re.compile(rf"{RESOLVED_PREFIX}[ {_BARE_MARK}]*")
"""What clients remove to unresolve a topic: also marks that are the beginning of its name."""


def is_resolved(topic: str) -> bool:
    """Return whether the name has the mark."""
    return topic.startswith(RESOLVED_PREFIX)


def without_mark(topic: str) -> str:
    """Return the name without one leading mark: the part that limits and other checks measure."""
    return topic.removeprefix(RESOLVED_PREFIX).lstrip()


def base_name(topic: str) -> str:
    """Return the name without any leading marks."""
    if topic == _BARE_MARK:
        return ""
    match = _MARKS.match(topic)
    return topic if match is None else topic[match.end() :]


def mark_change(old: str, new: str) -> MarkChange | None:
    """Return whether a change of the name resolves or unresolves the topic."""
    if is_resolved(old) == is_resolved(new):
        return None
    return "resolved" if is_resolved(new) else "unresolved"


def changes_only_marks(old: str, new: str) -> bool:
    """Return whether two names of a topic differ in their marks and in nothing else."""
    return old != new and base_name(old) == base_name(new)


def renamed(old: str, requested: str, *, max_length: int) -> str:
    """Return the name that a topic gets when a client requests another one.

    A topic has one mark at most, so marking a resolved topic again leaves its name as it is.
    Nothing of a name is lost where a client cuts the marked name to the maximum length, or removes
    a mark with which the name itself begins.
    """
    base = base_name(old)
    if is_resolved(old) and requested == _CLIENT_MARKS.sub("", old, count=1):
        return base
    if not is_resolved(requested):
        return requested
    if is_resolved(old) and base_name(requested) == base and len(requested) >= len(old):
        return old
    marked = RESOLVED_PREFIX + old
    is_cut = len(marked) > max_length and requested == marked[:max_length].rstrip()
    if is_cut and not is_resolved(old):
        return marked
    return RESOLVED_PREFIX + base_name(requested)
