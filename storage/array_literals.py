"""Arrays as Postgres reads them: for thousands of values, several times as fast as the driver's.

Each is a parameter of a statement that casts it to its type, as `%(ids)s::bigint[]`.
"""

from collections.abc import Iterable
from datetime import datetime


def int_array(values: Iterable[int | None]) -> str:
    """Return whole numbers as an array."""
    return "{" + ",".join(["NULL" if each is None else str(int(each)) for each in values]) + "}"


def text_array(values: Iterable[str]) -> str:
    """Return texts as an array. None contains NUL, which Postgres does not take."""
    quoted = [each.replace("\\", "\\\\").replace('"', '\\"') for each in values]
    return '{"' + '","'.join(quoted) + '"}' if quoted else "{}"


def moment_array(values: Iterable[datetime | None]) -> str:
    """Return moments with time zones as an array."""
    shown = ["NULL" if each is None else f'"{each.isoformat()}"' for each in values]
    return "{" + ",".join(shown) + "}"
