"""Spans of positions in which a user received a channel: pairs of the first and the last."""

from functools import lru_cache
from typing import Final

from storage.ids import Position

STILL: Final = Position(2**62)
"""The last position of a span that has not ended."""

Spans = tuple[tuple[Position, Position], ...]


@lru_cache(maxsize=10_000)
def _shared(first: Position, last: Position) -> Spans:
    return ((first, last),)


def span(first: Position, last: Position | None) -> Spans:
    """Return one span, as one object for all that are equal; without `last` it has not ended."""
    return _shared(first, STILL if last is None else last)


def receives(spans: Spans, position: Position) -> bool:
    """Return whether the position is in one of the spans."""
    for first, last in reversed(spans):  # noqa: SIM110 - any() takes twice as long
        if first <= position <= last:
            return True
    return False


def joined(spans: Spans, position: Position) -> Spans:
    """Return the spans with one that begins above this position. Repeated, it changes nothing."""
    next_position = Position(position + 1)
    return spans if receives(spans, next_position) else spans + span(next_position, None)


def left(spans: Spans, position: Position) -> Spans:
    """Return the spans with nothing above this position."""
    return tuple([(first, min(last, position)) for first, last in spans if first <= position])
