"""Format figures for people."""

from typing import Final

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60))


def span(seconds: float) -> str:
    """Return a duration as text."""
    for unit, length in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def size(octets: float) -> str:
    """Return an amount of data as text."""
    if octets < 1024**2:
        return f"{octets / 1024:,.0f} KB"
    return f"{octets / 1024**2:,.0f} MB"
