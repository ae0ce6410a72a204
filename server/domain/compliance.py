"""Rules of compliance cases."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from storage.compliance import CaseRow

MAX_HOURS: Final = 7 * 24
"""The longest time for which a case is open."""
MAX_OPEN_CASES: Final = 20
"""Cases of one officer that are open, or wait for an approval."""
MAX_FOUND: Final = 100
"""Messages that a search returns at once."""

NO_TERMS: Final = "*"
"""What is said of a search without terms."""

CaseState = Literal["waiting", "open", "closed"]


def state_of(row: CaseRow, now: datetime) -> CaseState:
    """Return whether the case waits for an approval, its creator may search, or it has ended."""
    if row.closed_at is not None or (row.ends_at is not None and row.ends_at <= now):
        return "closed"
    return "waiting" if row.ends_at is None else "open"


def described(query: Mapping[str, Any]) -> str:
    """Return a recorded search as it would be written in a search box."""
    terms = [
        f"{'-' if term['negated'] else ''}{term['operator']}:{_operand(term['operand'])}"
        for term in query["narrow"]
    ]
    times = [f"{name}:{query[name]}" for name in ("since", "until") if name in query]
    return " ".join([*terms, *times]) or NO_TERMS


def _operand(operand: Any) -> str:
    if isinstance(operand, list | tuple):
        return ",".join(map(str, operand))
    text = str(operand)
    return f'"{text}"' if " " in text else text
