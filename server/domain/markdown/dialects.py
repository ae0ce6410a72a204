"""Markdown of other programs, in our dialect."""

import re
from collections.abc import Callable
from typing import Final

_CODE: Final = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]+`)", re.DOTALL)
_UNDERSCORES: Final = re.compile(r"(?<![\w\\])(__?)(?![\s_])([^\n_]+?)(?<![\s_\\])\1(?!\w)")


def in_our_dialect(text: str) -> str:
    """Return standard Markdown in our dialect, which has no underscores for emphasis."""
    return outside_code(text, lambda piece: _UNDERSCORES.sub(_stars, piece))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return the text with what is not code changed."""
    if "`" not in text and "~~~" not in text:
        return change(text)
    pieces = _CODE.split(text)
    return "".join(each if n % 2 else change(each) for n, each in enumerate(pieces))


def _stars(found: re.Match[str]) -> str:
    stars = "*" * len(found[1])
    return f"{stars}{found[2]}{stars}"
