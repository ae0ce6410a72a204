"""Rows as their types: built by position, which is quicker than by name."""

import functools
import inspect
from collections.abc import Callable, Sequence
from itertools import starmap
from operator import itemgetter
from typing import Any, TypeVar

from psycopg.pq.abc import PGresult

Row = TypeVar("Row")
Values = tuple[Any, ...]


def built(row: type[Row], result: PGresult | None, found: Sequence[Values]) -> list[Row]:
    """What was found, each as `row(**columns)`."""
    if not found:
        return []
    assert result is not None, "rows come from a result"
    columns = tuple([result.fname(n) or b"" for n in range(result.nfields)])
    kind: Any = row
    arranged = _arranged(kind, columns)
    if arranged is None:
        names = [column.decode() for column in columns]
        return [row(**dict(zip(names, values, strict=True))) for values in found]
    return list(starmap(row, map(arranged, found) if arranged is not tuple else found))


@functools.lru_cache(maxsize=1_000)
def _arranged(
    row: Callable[..., Any], columns: tuple[bytes, ...]
) -> Callable[[Values], Values] | None:
    """How to put values of these columns in the order of the type's arguments; `tuple`: they are.

    None: they cannot be given by position.
    """
    names = [
        parameter.name.encode()
        for parameter in inspect.signature(row).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ][: len(columns)]
    if sorted(names) != sorted(columns):
        return None
    if names == list(columns):
        return tuple
    return itemgetter(*[columns.index(name) for name in names])
