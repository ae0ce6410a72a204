"""Numbers in texts of requests."""

from typing import Final

MAX_ID_DIGITS: Final = 18
"""Every number of so many digits fits into a bigint."""


def number_in(text: str, max_digits: int) -> int | None:
    """Return the number that the text is in ASCII digits; None for another or a longer text.

    Python's own parser takes digits of other scripts, signs, blanks and any length.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= max_digits else None
