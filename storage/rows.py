"""Build rows of a type by position, which is faster than by name."""

import functools
import inspect
from collections.abc import Callable, Sequence
from itertools import starmap
from operator import itemgetter
from typing import Any, TypeVar

from psycopg.pq.abc import PGresult

Row = TypeVar("Row")
Found = TypeVar("Found")
Values = tuple[Any, ...]


def built(row: type[Row], result: PGresult | None, found: Sequence[Values]) -> list[Row]:
    """Return the result's rows, each as `row(**columns)`."""
    if not found:
        return []
    names = columns(result)
    kind: Any = row
    arranged = _arranged(kind, names)
    if arranged is None:
        return [row(**dict(zip(names, values, strict=True))) for values in found]
    return list(starmap(row, map(arranged, found) if arranged is not tuple else found))


def columns(result: PGresult | None) -> tuple[str, ...]:
    """Return the names of the result's columns."""
    assert result is not None, "rows come from a result"
    return tuple([(result.fname(n) or b"").decode() for n in range(result.nfields)])


def first(found: Sequence[Found]) -> Found | None:
    """Return the first element, or None."""
    return found[0] if found else None


@functools.lru_cache(maxsize=1_000)
def _arranged(row: Callable[..., Any], names: tuple[str, ...]) -> Callable[[Values], Values] | None:
    """Return a function that orders these columns as the type's arguments; `tuple` if they are.

    None: they cannot be passed by position.
    """
    wanted = [
        parameter.name
        for parameter in inspect.signature(row).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ][: len(names)]
    if sorted(wanted) != sorted(names):
        return None
    if wanted == list(names):
        return tuple
    return itemgetter(*[names.index(name) for name in wanted])
